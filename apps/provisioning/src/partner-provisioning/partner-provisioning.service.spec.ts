import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import {
  PROVISIONING_EXPORT_ORGANIZATIONS,
  PROVISIONING_EXPORT_SITES,
  PROVISIONING_ORGANIZATIONS_GET,
  PROVISIONING_PARTNER_ORGANIZATIONS_CREATE,
  PROVISIONING_PARTNER_SITES_CREATE,
  type PartnerOrganizationCreateRequest,
  type PartnerSiteCreateRequest,
} from '@rmm/contracts';
import { deserializeError, type DomainError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { actingPartnerKey } from '../../test/acting-callers.js';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

type Key = ReturnType<typeof actingPartnerKey>;

describe('PartnerProvisioningService', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  /** An idempotency key of a principal with the body of the request. */
  const keyed = (caller: Key, key: string, body: object) => ({
    id: sha256(`${caller.principalId} ${key}`),
    callerId: `principal:${caller.principalId}`,
    bodyHash: sha256(JSON.stringify(body)),
  });

  const createOrganization = (caller: Key, given: Partial<PartnerOrganizationCreateRequest> = {}, key?: string) => {
    const body = { name: 'Blue Bakery', slug: 'blue-bakery', type: 'customer', status: 'active', ...given } as const;
    const idempotency = key === undefined ? null : keyed(caller, key, body);
    return testApp.call(PROVISIONING_PARTNER_ORGANIZATIONS_CREATE, { caller, idempotency, ...body });
  };
  const createSite = (caller: Key, orgId: string, given: Partial<PartnerSiteCreateRequest> = {}, key?: string) => {
    const body = { orgId, name: 'Headquarters', timezone: 'UTC', address: null, contact: null, ...given };
    const idempotency = key === undefined ? null : keyed(caller, key, body);
    return testApp.call(PROVISIONING_PARTNER_SITES_CREATE, { caller, idempotency, ...body });
  };
  const refusal = async (call: Promise<unknown>): Promise<DomainError> => {
    const error = await call.then(
      () => Promise.reject(new Error('it was carried out')),
      (thrown: Error) => thrown,
    );
    return deserializeError(JSON.parse(error.message));
  };
  const codeOf = async (call: Promise<unknown>) =>
    call.then(
      () => 'created',
      (error: Error) => deserializeError(JSON.parse(error.message)).code,
    );
  const count = async (table: string, partnerId: string): Promise<number> => {
    const { rows } = await testApp.admin.query(`select count(*)::int as n from ${table} where partner_id = $1`, [
      partnerId,
    ]);
    return (rows as { n: number }[])[0].n;
  };
  const repeat = (times: number, call: (n: number) => Promise<unknown>) =>
    Promise.all(Array.from({ length: times }, (_, n) => codeOf(call(n))));
  const tally = (codes: string[]) =>
    codes.reduce<Record<string, number>>((counts, code) => ({ ...counts, [code]: (counts[code] ?? 0) + 1 }), {});
  const pageOf = (caller: Key) => ({
    caller,
    orgId: null,
    snapshotAt: null,
    updatedSince: null,
    after: null,
    limit: 10,
  });

  it('creates an organization as a user does, in the name of the principal', async () => {
    const caller = actingPartnerKey(await testApp.createPartner());
    const { partnerId } = caller.tenant;
    const { record, replayed } = await createOrganization(caller, { type: 'internal', status: 'trial' });
    expect(replayed).toBe(false);
    expect(record).toEqual({
      id: record.orgId,
      orgId: record.id,
      siteId: null,
      sourceUpdatedAt: expect.stringMatching(/Z$/),
      name: 'Blue Bakery',
      slug: 'blue-bakery',
      type: 'internal',
      status: 'trial',
    });
    const exported = await testApp.call(PROVISIONING_EXPORT_ORGANIZATIONS, pageOf(caller));
    expect(exported.records).toEqual([record]);
    const ours = (envelope: { orgId: string | null }) => envelope.orgId === record.id;
    const actor = { type: 'api_key', id: caller.principalId };
    expect(await testApp.waitForMessage('organization.created', ours)).toMatchObject({ partnerId, actor });
    expect((await testApp.waitForMessage('organization.create', ours)).data).toMatchObject({
      actor,
      resourceId: record.id,
      initiatedBy: null,
    });
  });

  it('is known to the directories of the other services with its reply', async () => {
    const caller = actingPartnerKey(await testApp.createPartner());
    const { record } = await createOrganization(caller);
    const { organizations } = await testApp.call(PROVISIONING_ORGANIZATIONS_GET, { orgIds: [record.id] });
    expect(organizations).toEqual([expect.objectContaining({ orgId: record.id, status: 'active', deleted: false })]);
  });

  it('creates a site as a user does, in the name of the principal', async () => {
    const caller = actingPartnerKey(await testApp.createPartner());
    const { record: organization } = await createOrganization(caller);
    const address = { line1: ' Main 1 ', line2: null, city: 'Ulm', region: null, postalCode: null, country: 'DE' };
    const contact = { name: null, email: null, phone: null };
    const { record } = await createSite(caller, organization.id, { timezone: 'Europe/Berlin', address, contact });
    expect(record).toEqual({
      id: record.siteId,
      orgId: organization.id,
      siteId: record.id,
      sourceUpdatedAt: expect.stringMatching(/Z$/),
      name: 'Headquarters',
      timezone: 'Europe/Berlin',
      address: { ...address, line1: 'Main 1' },
      contact: null,
    });
    expect((await testApp.call(PROVISIONING_EXPORT_SITES, pageOf(caller))).records).toEqual([record]);
    const audited = await testApp.waitForMessage('site.create', ({ orgId }) => orgId === organization.id);
    expect(audited.data).toMatchObject({ actor: { type: 'api_key', id: caller.principalId }, resourceId: record.id });
  });

  it('refuses a site of another partner, of a suspended and of an unknown organization, in the same words', async () => {
    const [ours, theirs] = [
      actingPartnerKey(await testApp.createPartner()),
      actingPartnerKey(await testApp.createPartner()),
    ];
    const { record: foreign } = await createOrganization(theirs);
    const { record: suspended } = await createOrganization(ours);
    const admin = await testApp.clientFor({ partnerId: ours.tenant.partnerId ?? '' });
    await admin.patch(`/orgs/organizations/${suspended.id}`, { status: 'suspended' });
    const refusals = [];
    for (const orgId of [foreign.id, suspended.id, randomUUID()]) {
      const { status, code, error } = await refusal(createSite(ours, orgId));
      refusals.push({ status, code, error });
    }
    expect(refusals[0]).toMatchObject({ status: 403, code: 'organization_access_denied' });
    expect(refusals[1]).toEqual(refusals[0]);
    expect(refusals[2]).toEqual(refusals[0]);
    expect(await count('site', theirs.tenant.partnerId ?? '')).toBe(0);
  });

  it('refuses a taken name of a site, an unknown time zone and a malformed request', async () => {
    const caller = actingPartnerKey(await testApp.createPartner());
    const { record } = await createOrganization(caller);
    await createSite(caller, record.id);
    expect(await refusal(createSite(caller, record.id, { name: ' headquarters ' }))).toMatchObject({
      status: 409,
      code: 'site_name_conflict',
    });
    expect(await refusal(createSite(caller, record.id, { name: 'B', timezone: 'Mars/Base' }))).toMatchObject({
      status: 400,
      fieldErrors: { timezone: ['must be an IANA time zone'] },
    });
    const malformed = { status: 'suspended' } as unknown as Partial<PartnerOrganizationCreateRequest>;
    expect(await refusal(createOrganization(caller, malformed))).toMatchObject({ code: 'validation_failed' });
    expect(await count('site', caller.tenant.partnerId ?? '')).toBe(1);
  });

  it('names the existing organization of the partner for a taken slug, and lets other partners use the slug', async () => {
    const [ours, theirs] = [
      actingPartnerKey(await testApp.createPartner()),
      actingPartnerKey(await testApp.createPartner()),
    ];
    const { record } = await createOrganization(ours);
    const conflict = await refusal(createOrganization(ours, { name: 'Other' }));
    expect(conflict).toMatchObject({ status: 409, code: 'partner_provisioning_slug_conflict' });
    expect(conflict.extras).toEqual({ orgId: record.id });
    const { record: elsewhere } = await createOrganization(theirs);
    expect(elsewhere.slug).toBe(record.slug);
    expect((await refusal(createOrganization(theirs))).extras).toEqual({ orgId: elsewhere.id });
  });

  it('holds the cap under 20 concurrent requests', async () => {
    const caller = actingPartnerKey(await testApp.createPartner({ maxOrganizations: 3 }));
    const codes = await repeat(20, (n) => createOrganization(caller, { slug: `customer-${n}` }));
    expect(tally(codes)).toEqual({ created: 3, partner_provisioning_org_limit_reached: 17 });
    expect(await count('organization', caller.tenant.partnerId ?? '')).toBe(3);
  });

  it('names the existing organization although the cap is reached', async () => {
    const caller = actingPartnerKey(await testApp.createPartner({ maxOrganizations: 1 }));
    const { record } = await createOrganization(caller);
    expect((await refusal(createOrganization(caller))).extras).toEqual({ orgId: record.id });
    expect(await refusal(createOrganization(caller, { slug: 'another' }))).toMatchObject({
      status: 409,
      code: 'partner_provisioning_org_limit_reached',
    });
  });

  it('gives a slug to one of 20 concurrent requests', async () => {
    const caller = actingPartnerKey(await testApp.createPartner());
    const codes = await repeat(20, () => createOrganization(caller));
    expect(tally(codes)).toEqual({ created: 1, partner_provisioning_slug_conflict: 19 });
  });

  it('reports a slug that a rename takes meanwhile, and stores nothing', async () => {
    const caller = actingPartnerKey(await testApp.createPartner());
    const { record } = await createOrganization(caller, { slug: 'before' });
    const renaming = new pg.Client({ connectionString: testApp.adminUrl, options: '-c search_path=provisioning' });
    await renaming.connect();
    await renaming.query('BEGIN');
    await renaming.query(`UPDATE organization SET slug = 'wanted' WHERE id = $1`, [record.id]);
    const creating = refusal(createOrganization(caller, { slug: 'wanted' }));
    await waitForLock(testApp.admin);
    await renaming.query('COMMIT');
    await renaming.end();
    expect(await creating).toMatchObject({ code: 'partner_provisioning_slug_conflict', extras: { orgId: record.id } });
    expect(await count('organization', caller.tenant.partnerId ?? '')).toBe(1);
  });

  describe('with an idempotency key', () => {
    it('creates once and replays the reply, also when the slug is taken and the cap is reached by then', async () => {
      const caller = actingPartnerKey(await testApp.createPartner({ maxOrganizations: 1 }));
      const first = await createOrganization(caller, {}, 'k');
      const again = await createOrganization(caller, {}, 'k');
      expect(again).toEqual({ record: first.record, replayed: true });
      const site = await createSite(caller, first.record.id, {}, 'k2');
      expect(await createSite(caller, first.record.id, {}, 'k2')).toEqual({ record: site.record, replayed: true });
      await testApp.waitForMessage('site.create', ({ orgId }) => orgId === first.record.id);
      const audited = testApp.received.filter(
        ({ type, orgId }) => type.endsWith('.create') && orgId === first.record.id,
      );
      expect(audited).toHaveLength(2);
    });

    it('creates one of 20 concurrent requests', async () => {
      const caller = actingPartnerKey(await testApp.createPartner());
      const codes = await repeat(20, () => createOrganization(caller, {}, 'same'));
      expect(new Set(codes)).toEqual(new Set(['created']));
      expect(await count('organization', caller.tenant.partnerId ?? '')).toBe(1);
      const { record } = await createOrganization(caller, {}, 'same');
      const sites = await repeat(20, () => createSite(caller, record.id, {}, 'same site'));
      expect(sites.every((code) => code === 'created' || code === 'idempotency_key_in_use')).toBe(true);
      expect(await count('site', caller.tenant.partnerId ?? '')).toBe(1);
    });

    it('refuses another body, and frees the key of a refused request', async () => {
      const caller = actingPartnerKey(await testApp.createPartner());
      const { record } = await createOrganization(caller, {}, 'k');
      expect(await codeOf(createOrganization(caller, { name: 'Other' }, 'k'))).toBe('idempotency_key_reused');
      expect(await codeOf(createOrganization(caller, {}, 'refused'))).toBe('partner_provisioning_slug_conflict');
      await testApp.admin.query(`UPDATE organization SET slug = 'renamed' WHERE id = $1`, [record.id]);
      expect(await codeOf(createOrganization(caller, {}, 'refused'))).toBe('created');
    });

    it('stores nothing when the write fails, and creates once afterwards', async () => {
      const caller = actingPartnerKey(await testApp.createPartner());
      const partnerId = caller.tenant.partnerId ?? '';
      await testApp.admin.query('ALTER TABLE outbox RENAME TO outbox_away');
      try {
        expect(await codeOf(createOrganization(caller, {}, 'k'))).toBe('internal_error');
      } finally {
        await testApp.admin.query('ALTER TABLE outbox_away RENAME TO outbox');
      }
      expect([await count('organization', partnerId), await count('idempotency_record', partnerId)]).toEqual([0, 0]);
      expect((await createOrganization(caller, {}, 'k')).replayed).toBe(false);
      expect(await count('organization', partnerId)).toBe(1);
    });
  });
});

/** Waits until a statement waits for a lock of another transaction. */
const waitForLock = (admin: pg.Client): Promise<void> =>
  eventually(async () => {
    const { rows } = await admin.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    expect(rows).not.toHaveLength(0);
  });
