import { randomUUID } from 'node:crypto';
import { OrganizationDirectory, type Acting } from '@rmm/access';
import type { ActingCaller } from '@rmm/contracts';
import { TenantDatabase } from '@rmm/persistence';
import { hashEnrollmentKey, hashKey } from '@rmm/secrets';
import { buildCustomer, type Customer } from '../../test/build-customer.js';
import { CredentialsTestApp, PEPPER } from '../../test/credentials-test-app.js';
import { EnrollmentKeyIssuingService, type CheckedEnrollmentKey } from './enrollment-key-issuing.service.js';
import { EnrollmentTtlExceedsCap, SiteNotInOrganization } from './enrollment-key.errors.js';

describe('EnrollmentKeyIssuingService', () => {
  let service: CredentialsTestApp;
  let issuing: EnrollmentKeyIssuingService;
  let customer: Customer;
  let acting: Acting;
  let caller: ActingCaller;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    issuing = service.app.get(EnrollmentKeyIssuingService);
    customer = await buildCustomer(service);
    const tenant = {
      scope: 'partner',
      partnerId: customer.partnerId,
      orgId: null,
      orgAccess: 'all',
      orgIds: [],
    } as const;
    const principalId = randomUUID();
    caller = { kind: 'partner_key', keyId: randomUUID(), principalId, tenant: { ...tenant, orgIds: [] } };
    acting = { actor: { type: 'api_key', id: principalId }, tenant: { ...tenant, userId: null } };
  });
  afterAll(() => service?.stop());

  const check = async (requested: object) => {
    const organization = await service.app.get(OrganizationDirectory).find(customer.orgId);
    if (!organization) throw new Error('no such organization');
    return issuing.check(caller, organization, { name: 'Key', ...requested });
  };
  const issue = (checked: CheckedEnrollmentKey, as: Acting, withSecret?: boolean) =>
    service.app.get(TenantDatabase).transaction(as, (tx) => issuing.issue(tx, as, checked, { withSecret }));

  it('checks the site at provisioning and the lifetime against the cap of the partner', async () => {
    const [siteId] = customer.siteIds;
    expect(await check({ siteId, maxUsage: 3 })).toMatchObject({ siteId, maxUsage: 3, orgId: customer.orgId });
    expect(await check({})).toMatchObject({ siteId: null, maxUsage: 1 });
    await expect(check({ siteId: randomUUID() })).rejects.toBeInstanceOf(SiteNotInOrganization);
    await service.publishPartner('partner.updated', {
      partnerId: customer.partnerId,
      version: 2,
      settings: { enrollment: { maxTtlMinutes: 5 } },
    });
    await expect(check({ ttlMinutes: 6 })).rejects.toBeInstanceOf(EnrollmentTtlExceedsCap);
  });

  it('stores hashes of key and secret, and the user who created it, if one did', async () => {
    const checked = await check({});
    const machine = await issue(checked, acting, true);
    const userId = randomUUID();
    const user = await issue(checked, { ...acting, actor: { type: 'user', id: userId } });
    expect([machine.row.createdBy, user.row.createdBy, user.secret]).toEqual([null, userId, null]);
    const { rows } = await service.admin.query<{ key_hash: Buffer; secret_hash: Buffer | null }>(
      'SELECT key_hash, secret_hash FROM enrollment_key WHERE id = ANY ($1) ORDER BY created_by NULLS FIRST',
      [[machine.row.id, user.row.id]],
    );
    expect(rows).toEqual([
      { key_hash: hashEnrollmentKey(machine.key, PEPPER), secret_hash: hashKey(machine.secret ?? '') },
      { key_hash: hashEnrollmentKey(user.key, PEPPER), secret_hash: null },
    ]);
  });
});
