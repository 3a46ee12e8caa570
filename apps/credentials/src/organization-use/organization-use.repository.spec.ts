import { randomBytes, randomUUID } from 'node:crypto';
import type { OrganizationsInUseRequest } from '@rmm/contracts';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { OrganizationUseRepository } from './organization-use.repository.js';

const INSERTS = {
  api_key: `INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit)
            VALUES (:partnerId, :orgId, 'Key', 'svc_12345678', :hash, '{devices:read}', 5)`,
  service_principal: `INSERT INTO service_principal (partner_id, org_id, name, scopes)
                      SELECT :partnerId, :orgId, 'Relay', '{}' WHERE :hash::bytea IS NOT NULL`,
  enrollment_key: `INSERT INTO enrollment_key (partner_id, org_id, name, key_hash, expires_at)
                   VALUES (:partnerId, :orgId, 'Rollout', :hash, now())`,
};

describe('OrganizationUseRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: OrganizationUseRepository;
  const partnerId = randomUUID();

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new OrganizationUseRepository(opened.tenants);
  }, 120_000);
  afterAll(() => opened?.stop());

  const callerOf = (changes: object = {}) =>
    ({
      ...{ kind: 'user', userId: randomUUID(), sessionId: randomUUID() },
      tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], ...changes },
    }) as unknown as OrganizationsInUseRequest['caller'];

  it.each(Object.entries(INSERTS))(
    'finds organizations with rows of %s, for callers who may see them',
    async (_, insert) => {
      const [used, unused] = [await opened.createOrganization(partnerId), await opened.createOrganization(partnerId)];
      await opened.tenants.transaction(buildPartnerCaller(partnerId), (tx) =>
        tx.query(insert, { partnerId, orgId: used, hash: randomBytes(32) }),
      );
      const orgIds = [unused, used, randomUUID()];
      expect(await repository.listUsed({ caller: callerOf(), partnerId, orgIds })).toEqual([used]);
      const stranger = randomUUID();
      expect(await repository.listUsed({ caller: callerOf({ partnerId: stranger }), partnerId, orgIds })).toEqual([]);
      expect(await repository.listUsed({ caller: callerOf(), partnerId: stranger, orgIds })).toEqual([]);
      const restricted = callerOf({ orgAccess: 'selected', orgIds: [unused] });
      expect(await repository.listUsed({ caller: restricted, partnerId, orgIds })).toEqual([]);
    },
  );
});
