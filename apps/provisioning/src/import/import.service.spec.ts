import { AUDIT_ENTRIES, subjects, type AuditEntries, type Envelope, type OrganizationsChanged } from '@rmm/contracts';
import { Databases, IDEMPOTENCY_LIMITS, PurgeIdempotencyRecordsJob, TenantTransaction } from '@rmm/persistence';
import { RedisConnections } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

const customers = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => ({
    organization: `Customer ${from + index}`,
    externalId: `C-${from + index}`,
    site: 'Main Office',
    timezone: 'Europe/Berlin',
  }));

const idOf = ({ orgId }: { orgId: string | null }) => orgId;

/** Counts the statements of tenant transactions, those that write messages apart. */
async function statementsOf(work: () => Promise<unknown>): Promise<{ messages: number; others: number }> {
  const prototype = Object.getPrototypeOf(TenantTransaction.prototype) as { query: (sql: string) => unknown };
  const spy = jest.spyOn(prototype, 'query');
  try {
    await work();
    const sent = spy.mock.calls.filter((_, index) => spy.mock.contexts[index] instanceof TenantTransaction);
    const messages = sent.filter(([sql]) => sql.includes('INTO outbox ')).length;
    return { messages, others: sent.length - messages };
  } finally {
    spy.mockRestore();
  }
}

describe('/orgs/import', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  const freshPartner = async (caps = {}) => {
    const partnerId = await testApp.createPartner(caps);
    return { partnerId, client: await testApp.clientFor({ partnerId }) };
  };
  const countOf = async (table: string, partnerId: string): Promise<number> => {
    const { rows } = await testApp.admin.query(`select count(*)::int as total from ${table} where partner_id = $1`, [
      partnerId,
    ]);
    return rows[0].total;
  };

  it('previews without a write, creates organizations, links and sites, and changes nothing when repeated', async () => {
    const { client, partnerId } = await freshPartner();
    const rows = customers(100);
    const preview = await client.post('/orgs/import/preview', { rows });
    expect(preview.status).toBe(200);
    expect(preview.body.warnings).toEqual([]);
    expect(preview.body.rows[41]).toEqual({
      ...rows[41],
      index: 41,
      annotation: 'create',
      slug: 'customer-42',
      organizationId: null,
    });
    expect(await countOf('organization', partnerId)).toBe(0);

    const commit = await client.post('/orgs/import', { rows });
    expect(commit.status).toBe(200);
    expect(commit.body).toMatchObject({ updated: [], skipped: [], errors: [], warnings: [] });
    expect(commit.body.imported).toHaveLength(100);
    const [first] = commit.body.imported;
    expect(first).toEqual({
      index: 0,
      organization: 'Customer 1',
      organizationId: expect.any(String),
      siteId: expect.any(String),
      siteName: 'Main Office',
      createdOrganization: true,
      createdLink: true,
      slug: 'customer-1',
    });
    const shown = await client.get(`/orgs/organizations/${first.organizationId}`);
    expect(shown.body.externalLinks).toEqual([{ system: 'csv', externalId: 'C-1' }]);
    expect((await client.get(`/orgs/sites/${first.siteId}`)).body).toMatchObject({ timezone: 'Europe/Berlin' });
    expect(await countOf('organization', partnerId)).toBe(100);

    const before = await testApp.admin.query('select xmin::text, id from organization where partner_id = $1', [
      partnerId,
    ]);
    const again = await client.post('/orgs/import', { rows });
    expect(again.body).toMatchObject({ imported: [], updated: [], errors: [] });
    expect(again.body.skipped).toHaveLength(100);
    expect(again.body.skipped[0]).toMatchObject({ reason: 'already_linked', createdLink: false });
    const after = await testApp.admin.query('select xmin::text, id from organization where partner_id = $1', [
      partnerId,
    ]);
    expect(new Set(after.rows.map((row) => row.xmin))).toEqual(new Set(before.rows.map((row) => row.xmin)));

    const ours = (envelope: { orgId: string | null }) => envelope.orgId === first.organizationId;
    const event = await testApp.waitForMessage('organization.created', ours);
    expect(event).toMatchObject({ aggregateVersion: 1, data: { name: 'Customer 1', slug: 'customer-1' } });
    const ofPartner = (envelope: { partnerId: string | null }) => envelope.partnerId === partnerId;
    const { data } = await testApp.waitForMessage('organizations.changed', ofPartner);
    expect((data as OrganizationsChanged).organizations).toHaveLength(100);
    expect((data as OrganizationsChanged).organizations).toContainEqual({
      ...{ orgId: first.organizationId, partnerId, name: 'Customer 1', slug: 'customer-1' },
      ...{ status: 'active', deleted: false, version: 1 },
    });
    await testApp.waitForMessage('site.created', ours);
    expect((await testApp.waitForMessage('organization.create', ours)).data).toMatchObject({
      details: { source: 'import', slug: 'customer-1', externalLinks: [{ system: 'csv', externalId: 'C-1' }] },
    });
  });

  it('uses a fixed number of statements, and four for each further 400 organizations, but for those of messages', async () => {
    const { client, partnerId } = await freshPartner({ maxOrganizations: 5_000 });
    const few = await statementsOf(() => client.post('/orgs/import', { rows: customers(10) }));
    let response: Awaited<ReturnType<typeof client.post>> | undefined;
    const many = await statementsOf(async () => {
      response = await client.post('/orgs/import', { rows: customers(1_000, 11) });
    });
    expect(response?.body.imported).toHaveLength(1_000);
    expect(await countOf('site', partnerId)).toBe(1_010);
    expect(few.others).toBeLessThanOrEqual(13);
    expect(many.others).toBe(few.others + 2 * 4 + 2); // two have the others planned again
    expect(few.messages).toBe(1);
    // As many messages in each statement as 96 K characters hold, at most 250.
    expect(many.messages).toBeLessThanOrEqual(25);
    expect(many.messages).toBeGreaterThanOrEqual(8);
  });

  it('publishes an event for each organization and site, but states and audit entries in sets', async () => {
    const { client, partnerId } = await freshPartner({ maxOrganizations: 5_000 });
    const sizes = { states: [] as number[], entries: [] as number[] };
    const { connection } = testApp.identity.link;
    const subscription = connection.subscribe('rmm.internal.provisioning.>', {
      callback: (_, message) => {
        const { type, data, ...envelope } = message.json<Envelope>();
        if (envelope.partnerId !== partnerId) return;
        if (type === 'organizations.changed') sizes.states.push((data as OrganizationsChanged).organizations.length);
      },
    });
    const audited = connection.subscribe(subjects.audit('provisioning'), {
      callback: (_, message) => {
        const { type, data, ...envelope } = message.json<Envelope>();
        if (envelope.partnerId !== partnerId || type !== AUDIT_ENTRIES) return;
        sizes.entries.push((data as AuditEntries).entries.length);
      },
    });
    const { imported } = (await client.post('/orgs/import', { rows: customers(1_000) }).expect(200)).body;
    const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
    await eventually(() => expect([sum(sizes.states), sum(sizes.entries)]).toEqual([1_000, 1_000]));
    expect(sizes.states).toEqual(Array(10).fill(100));
    expect(sizes.entries).toEqual(Array(20).fill(50));
    const published = (type: string) =>
      new Set(testApp.received.filter((each) => each.type === type && each.partnerId === partnerId).map(idOf));
    const ids = new Set(imported.map(({ organizationId }: { organizationId: string }) => organizationId));
    await eventually(() => {
      for (const type of ['organization.created', 'site.created', 'organization.create']) {
        expect([type, published(type)]).toEqual([type, ids]);
      }
    });
    for (const each of [subscription, audited]) each.unsubscribe();
  });

  it('fills the cap exactly when two imports race', async () => {
    const { client, partnerId } = await freshPartner({ maxOrganizations: 15 });
    const responses = await Promise.all([
      client.post('/orgs/import', { rows: customers(10, 1) }),
      client.post('/orgs/import', { rows: customers(10, 101) }),
    ]);
    const imported = responses.flatMap((response) => response.body.imported);
    const errors = responses.flatMap((response) => response.body.errors);
    expect([imported.length, errors.length]).toEqual([15, 5]);
    expect(new Set(errors.map((error) => error.code))).toEqual(new Set(['organization-limit-reached']));
    expect(await countOf('organization', partnerId)).toBe(15);
  });

  it('creates each organization once when the same file is imported twice concurrently', async () => {
    const { client, partnerId } = await freshPartner();
    const responses = await Promise.all([1, 2].map(() => client.post('/orgs/import', { rows: customers(50) })));
    expect(responses.map((response) => response.body.imported.length + response.body.skipped.length)).toEqual([50, 50]);
    expect(responses.flatMap((response) => response.body.imported)).toHaveLength(50);
    expect(await countOf('organization', partnerId)).toBe(50);
  });

  it('stores the link of a confirmed name match', async () => {
    const { client } = await freshPartner();
    const { id } = (await client.post('/orgs/organizations', { name: 'Acme' })).body;
    const row = { organization: 'ACME', externalId: '7' };
    const preview = await client.post('/orgs/import/preview', { rows: [row] });
    expect(preview.body.rows[0]).toMatchObject({
      annotation: 'name-match',
      organizationId: id,
      matchedOrganizationName: 'Acme',
      matchedBy: 'name',
      matchedOrganizationLinkedToSystem: false,
      slug: 'acme',
    });
    const refused = await client.post('/orgs/import', { rows: [row] });
    expect(refused.body.errors).toMatchObject([{ index: 0, organization: 'ACME', code: 'name-match-unconfirmed' }]);
    const confirmed = { ...row, expectedAnnotation: 'name-match', expectedOrganizationId: id };
    const done = await client.post('/orgs/import', { rows: [confirmed] });
    expect(done.body.skipped).toMatchObject([
      { organizationId: id, reason: 'name_match_confirmed', createdLink: true },
    ]);
    await testApp.waitForMessage('organization.external_link.create', (envelope) => envelope.orgId === id);
    const late = await client.post('/orgs/import', { rows: [confirmed] });
    expect(late.body.errors).toMatchObject([{ code: 'annotation-changed' }]);
  });

  it('names the field to blame for conflicts in the preview and for errors in the result', async () => {
    const { client } = await freshPartner();
    const rows = ['Acme', 'Beta'].map((organization) => ({ organization, externalId: '1' }));
    const preview = (await client.post('/orgs/import/preview', { rows })).body.rows;
    expect(preview).toMatchObject([{ conflictField: 'externalId' }, { conflictField: 'externalId' }]);
    const { errors } = (await client.post('/orgs/import', { rows })).body;
    expect(errors).toMatchObject([{ code: 'row-conflict', field: 'externalId' }, { field: 'externalId' }]);
    const contacts = [{ organization: 'Unknown', name: 'Ann' }];
    const contactPreview = (await client.post('/orgs/contacts/import/preview', { rows: contacts })).body.rows;
    expect(contactPreview).toMatchObject([{ annotation: 'org-not-found', conflictField: 'organization' }]);
    const contactErrors = (await client.post('/orgs/contacts/import', { rows: contacts })).body.errors;
    expect(contactErrors).toMatchObject([{ code: 'org-not-found', field: 'organization' }]);
  });

  it('updates existing sites and adds missing ones in mode update', async () => {
    const { client } = await freshPartner();
    const [created] = (await client.post('/orgs/import', { rows: customers(1) })).body.imported;
    const rows = [
      { ...customers(1)[0], site: 'MAIN office', timezone: 'UTC', contact: { name: 'Ann' } },
      { ...customers(1)[0], site: 'Branch' },
    ];
    const response = await client.post('/orgs/import', { rows, mode: 'update' });
    expect(response.body.errors).toEqual([]);
    expect(response.body.updated).toMatchObject([
      { index: 0, siteId: created.siteId, siteName: 'Main Office', createdSite: false, reactivated: false },
      { index: 1, siteName: 'Branch', createdSite: true },
    ]);
    const site = await client.get(`/orgs/sites/${created.siteId}`);
    expect(site.body).toMatchObject({ timezone: 'UTC', contact: { name: 'Ann', email: null, phone: null } });
    const event = await testApp.waitForMessage('site.updated', (envelope) => envelope.aggregateId === created.siteId);
    expect(event).toMatchObject({ aggregateVersion: 2, data: { name: 'Main Office' } });
  });

  it('reactivates a soft-deleted organization on request with a slug that is free', async () => {
    const { client } = await freshPartner();
    const [created] = (await client.post('/orgs/import', { rows: customers(1) })).body.imported;
    await testApp.admin.query('update organization set deleted_at = now() where id = $1', [created.organizationId]);
    const plain = await client.post('/orgs/import', { rows: customers(1) });
    expect(plain.body.errors).toMatchObject([{ code: 'soft-deleted-unconfirmed' }]);
    await client.post('/orgs/organizations', { name: 'Customer 1' });
    const response = await client.post('/orgs/import', { rows: [{ ...customers(1)[0], reactivate: true }] });
    expect(response.body.updated).toMatchObject([{ organizationId: created.organizationId, reactivated: true }]);
    const shown = await client.get(`/orgs/organizations/${created.organizationId}`);
    expect(shown.body).toMatchObject({ slug: 'customer-1-2', status: 'active' });
    await testApp.waitForMessage('organization.reactivate', (envelope) => envelope.orgId === created.organizationId);
  });

  it('moves the link of a deleted organization to a forced new one', async () => {
    const { client, partnerId } = await freshPartner();
    const [created] = (await client.post('/orgs/import', { rows: customers(1) })).body.imported;
    await testApp.admin.query('update organization set deleted_at = now() where id = $1', [created.organizationId]);
    const response = await client.post('/orgs/import', { rows: [{ ...customers(1)[0], forceCreate: true }] });
    expect(response.body.errors).toEqual([]);
    const [{ organizationId }] = response.body.imported;
    const { rows } = await testApp.admin.query('select org_id from external_link where partner_id = $1', [partnerId]);
    expect(rows).toEqual([{ org_id: organizationId }]);
  });

  it('writes the other groups when one cannot be written', async () => {
    const { client, partnerId } = await freshPartner();
    await withCursedOrganizations(async () => {
      const rows = [{ organization: 'Fine' }, { organization: 'Cursed' }, { organization: 'Also fine' }];
      const response = await client.post('/orgs/import', { rows });
      expect(response.body.imported.map((item: { index: number }) => item.index)).toEqual([0, 2]);
      expect(response.body.errors).toMatchObject([{ index: 1, organization: 'Cursed', code: 'write-failed' }]);
      expect(JSON.stringify(response.body)).not.toContain('secret of the database');
    });
    expect(await countOf('organization', partnerId)).toBe(2);
    expect(await countOf('site', partnerId)).toBe(2);
  });

  it('never matches an organization or link of another partner', async () => {
    const other = await freshPartner();
    await other.client.post('/orgs/import', { rows: customers(1) });
    const { client } = await freshPartner();
    const preview = await client.post('/orgs/import/preview', { rows: customers(1) });
    expect(preview.body.rows[0]).toMatchObject({ annotation: 'create', organizationId: null });
    const foreign = await client.post('/orgs/import', { rows: customers(1), partnerId: other.partnerId });
    expect([foreign.status, foreign.body.code]).toEqual([403, 'partner_access_denied']);
  });

  it.each(['/orgs/import', '/orgs/import/preview'])(
    '%s is closed without MFA, permission, scope or the whole partner',
    async (path) => {
      const partnerId = await testApp.createPartner();
      const body = { rows: customers(1) };
      const { id } = (await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Own' })).body;
      const codes = await Promise.all(
        [
          { partnerId, mfa: false },
          { partnerId, permissions: ['organizations:write' as const] },
          { partnerId, scope: 'organization' as const, orgId: id },
          { partnerId, orgAccess: 'selected' as const, orgIds: [id] },
        ].map(async (user) => {
          const response = await (await testApp.clientFor(user)).post(path, body);
          return [response.status, response.body.code];
        }),
      );
      expect(codes).toEqual([
        [403, 'mfa_required'],
        [403, 'permission_denied'],
        [403, 'scope_not_allowed'],
        [403, 'full_partner_access_required'],
      ]);
    },
  );

  it('refuses a malformed request as a whole and ignores unknown columns', async () => {
    const { client, partnerId } = await freshPartner();
    const bad = await client.post('/orgs/import', { rows: [{ organization: 'A' }, { site: 'x' }, 5] });
    expect(bad.status).toBe(400);
    expect(bad.body.code).toBe('validation_failed');
    expect(Object.keys(bad.body.details.fieldErrors)).toEqual(['rows.1.organization', 'rows.2']);
    expect((await client.post('/orgs/import', { rows: customers(1_001) })).status).toBe(400);
    expect((await client.post('/orgs/import', { rows: 'all' })).status).toBe(400);
    expect((await client.post('/orgs/import', { rows: [], mode: 'replace' })).status).toBe(400);
    expect((await client.post('/orgs/import', '{"rows": [')).body.code).toBe('malformed_json');
    expect(await countOf('organization', partnerId)).toBe(0);
    const extra = await client.post('/orgs/import', { rows: [{ organization: 'A', color: 'red' }] });
    expect(extra.body.warnings).toEqual([{ code: 'unknown-column', column: 'color', rows: [0] }]);
    expect(extra.body.imported).toHaveLength(1);
  });

  it('accepts bodies above the global limit up to its own limit', async () => {
    const { client } = await freshPartner();
    const padded = (bytes: number) => ({ rows: [{ organization: 'Large', padding: 'x'.repeat(bytes) }] });
    expect((await client.post('/orgs/import/preview', padded(2_000_000))).status).toBe(200);
    const over = await client.post('/orgs/import/preview', padded(9_000_000));
    expect([over.status, over.body.code]).toEqual([413, 'payload_too_large']);
  });

  it('imports for the partner that a system caller names', async () => {
    const { partnerId } = await freshPartner();
    const admin = await testApp.clientFor({ scope: 'system' });
    const response = await admin.post('/orgs/import', { rows: customers(3), partnerId });
    expect(response.body.imported).toHaveLength(3);
    expect(await countOf('organization', partnerId)).toBe(3);
  });

  /** Refuses organizations named `Cursed ...` while `work` runs. */
  async function withCursedOrganizations(work: () => Promise<void>): Promise<void> {
    await testApp.admin.query(`
      create or replace function refuse_cursed() returns trigger language plpgsql as $$
      begin if new.name like 'Cursed%' then raise exception 'secret of the database'; end if; return new; end $$`);
    await testApp.admin.query(
      'create trigger refuse_cursed before insert on organization for each row execute function refuse_cursed()',
    );
    try {
      await work();
    } finally {
      await testApp.admin.query('drop trigger refuse_cursed on organization; drop function refuse_cursed()');
    }
  }

  it('isolates one group that cannot be written among 1,000 with few statements', async () => {
    const { client, partnerId } = await freshPartner({ maxOrganizations: 5_000 });
    const rows = [...customers(617), { organization: 'Cursed' }, ...customers(382, 618)];
    await withCursedOrganizations(async () => {
      const statements = await statementsOf(async () => {
        const { body } = await client.post('/orgs/import', { rows });
        expect(body.errors).toMatchObject([{ index: 617, code: 'write-failed' }]);
        expect(body.imported).toHaveLength(999);
      });
      expect(statements.others + statements.messages).toBeLessThan(200);
    });
    expect(await countOf('organization', partnerId)).toBe(999);
  });

  it('refuses names that are too long once they are composed, on every route', async () => {
    const { client } = await freshPartner();
    const growing = '\u0958'.repeat(128); // 256 characters in NFC
    for (const path of ['/orgs/import', '/orgs/import/preview']) {
      for (const row of [{ organization: growing }, { organization: 'A', site: growing }]) {
        const { status, body } = await client.post(path, { rows: [row] });
        expect([path, status, body.code]).toEqual([path, 400, 'validation_failed']);
      }
    }
    const { id: orgId } = (await client.post('/orgs/organizations', { name: 'Cafe\u0301' })).body;
    for (const [path, body] of [
      ['/orgs/organizations', { name: growing }],
      ['/orgs/sites', { orgId, name: growing }],
      ['/orgs/sites', { orgId, name: 'A', address: { city: growing } }],
    ] as const) {
      const response = await client.post(path, body);
      expect([path, response.status, response.body.code]).toEqual([path, 400, 'validation_failed']);
    }
    expect((await client.get(`/orgs/organizations/${orgId}`)).body.name).toBe('Caf\u00e9');
    const preview = await client.post('/orgs/import/preview', { rows: [{ organization: 'Cafe\u0301' }] });
    expect(preview.body.rows[0]).toMatchObject({ annotation: 'name-match', matchedOrganizationName: 'Caf\u00e9' });
  });

  it('refuses unknown columns that are nested too deeply, and returns others in a preview', async () => {
    const { client } = await freshPartner();
    const nested = (depth: number) => `{"rows":[{"organization":"A","x":${'['.repeat(depth)}${']'.repeat(depth)}}]}`;
    const deep = await client.post('/orgs/import/preview', nested(100_000));
    expect([deep.status, deep.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(deep.body.details.fieldErrors)).toEqual(['rows.0.x']);
    const shallow = await client.post('/orgs/import/preview', nested(5));
    expect([shallow.status, shallow.body.rows[0].x]).toEqual([200, [[[[[]]]]]]);
  });

  it('audits an organization with many long site names within the limits of an entry', async () => {
    const { client } = await freshPartner();
    const rows = Array.from({ length: 1_000 }, (_, i) => ({
      organization: 'Large',
      site: `${i} ${'\u6f22'.repeat(240)}`,
    }));
    const { body } = await client.post('/orgs/import', { rows });
    expect(body.errors).toEqual([]);
    const { organizationId } = body.imported[0];
    const entry = await testApp.waitForMessage('organization.create', ({ orgId }) => orgId === organizationId);
    expect((entry.data as { details: object }).details).toEqual({
      tooLong: true,
      fields: ['source', 'slug', 'externalLinks', 'sites'],
    });
  });

  it('holds no connection for the waiting imports of one partner, and refuses the third unparsed with Retry-After', async () => {
    const busy = await freshPartner({ maxOrganizations: 50_000 });
    const other = await freshPartner();
    await other.client.post('/orgs/organizations', { name: 'Own' });
    const pool = testApp.app.get(Databases).servicePool;
    let isRunning = true;
    let advisory = 0;
    let queued = 0;
    let inUse = 0;
    let most = 0;
    const redis = testApp.app.get(RedisConnections).shared;
    const observe = async () => {
      while (isRunning) {
        const { rows } = await testApp.admin.query(
          `select count(*) filter (where wait_event_type = 'Lock' and wait_event = 'advisory')::int as waiting
             from pg_stat_activity where application_name = 'provisioning'`,
        );
        advisory = Math.max(advisory, rows[0].waiting);
        queued = Math.max(queued, pool.waitingCount);
        inUse = Math.max(inUse, pool.totalCount - pool.idleCount);
        most = Math.max(most, await redis.zcard(`rmm:running:import:{${busy.partnerId}}`));
        expect((await other.client.get('/orgs/organizations?limit=1')).status).toBe(200);
      }
    };
    const parsed = jest.spyOn(JSON, 'parse');
    const observing = observe();
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, i) => busy.client.post('/orgs/import', { rows: customers(500, 1 + 500 * i) })),
    );
    isRunning = false;
    await observing;
    const bodies = parsed.mock.calls.filter(([text]) => text.startsWith('{"rows"')).length;
    parsed.mockRestore();
    const imported = responses.filter(({ status }) => status === 200).length;
    expect(bodies).toBe(imported); // refused requests are not parsed
    expect([advisory, queued]).toEqual([0, 0]);
    expect(inUse).toBeLessThanOrEqual(4); // one import, one attempt at its lock, the list
    const statuses = responses.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(most).toBeLessThanOrEqual(2);
    const refused = responses.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe('rate_limited');
    expect(['2', '3', '4']).toContain(refused?.headers['retry-after']);
    expect((await busy.client.post('/orgs/import', { rows: customers(1) })).status).toBe(200);
  });

  it('counts the imports of platform administrators for the partner that they name', async () => {
    const { partnerId } = await freshPartner({ maxOrganizations: 5_000 });
    const admins = await Promise.all([1, 2, 3].map(() => testApp.clientFor({ scope: 'system' })));
    const send = (admin: (typeof admins)[number], nth: number) =>
      admin.post('/orgs/import', { partnerId, rows: customers(1, nth) });
    // The third request comes while the others are in progress, however slow the machine is.
    await testApp.admin.query(`
      create or replace function delay() returns trigger language plpgsql as $$
      begin perform pg_sleep(0.7); return null; end $$;
      create trigger delay after insert on organization for each row execute function delay()`);
    try {
      const statuses = (await Promise.all(admins.map(send))).map(({ status }) => status);
      // The second is 503 when it waits too long for the first.
      expect(statuses).toContain(200);
      expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    } finally {
      await testApp.admin.query('drop trigger delay on organization; drop function delay()');
    }
    expect((await send(admins[0], 9)).status).toBe(200);
  });

  it('imports nothing when the response is 503 for lateness', async () => {
    const { client, partnerId } = await freshPartner();
    const send = () => client.post('/orgs/import', { rows: customers(3) }).set('Idempotency-Key', 'late');
    await testApp.admin.query(`
      create or replace function delay() returns trigger language plpgsql as $$
      begin perform pg_sleep(4); return null; end $$;
      create trigger delay after insert on organization for each row execute function delay()`);
    try {
      const response = await send();
      expect([response.status, response.body.code]).toEqual([503, 'service_unavailable']);
    } finally {
      await testApp.admin.query('drop trigger delay on organization; drop function delay()');
    }
    expect(await countOf('organization', partnerId)).toBe(0);
    const again = await send();
    expect([again.status, again.body.imported.length]).toEqual([200, 3]);
    expect(again.headers['idempotency-replayed']).toBeUndefined();
  });

  describe('with an idempotency key', () => {
    const send = (client: Awaited<ReturnType<typeof freshPartner>>['client'], key: string, body: object) =>
      client.post('/orgs/import', body).set('Idempotency-Key', key);

    it('returns the stored response to the first request, with one effect and one set of audit entries', async () => {
      const { client, partnerId } = await freshPartner();
      const body = { rows: [{ organization: 'Without a link' }] };
      const first = await send(client, 'a', body);
      const again = await send(client, 'a', body);
      expect([first.status, again.status]).toEqual([200, 200]);
      expect(again.body).toEqual(first.body);
      expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([
        undefined,
        'true',
      ]);
      expect(await countOf('organization', partnerId)).toBe(1);
      const other = await client.post('/orgs/import', body).set('X-Idempotency-Key', 'a');
      expect(other.headers['idempotency-replayed']).toBe('true');
      const audited = () => testApp.received.filter((each) => each.partnerId === partnerId && each.type.includes('.'));
      await testApp.waitForMessage('organization.create', (each) => each.partnerId === partnerId);
      expect(
        audited().filter(({ type }) => type === 'organization.create' || type.startsWith('request.')),
      ).toHaveLength(1);
    });

    it('refuses the key for another body, and keeps keys of other users and partners apart', async () => {
      const { client, partnerId } = await freshPartner();
      const body = { rows: customers(1) };
      await send(client, 'a', body);
      const reused = await send(client, 'a', { rows: customers(2) });
      expect([reused.status, reused.body.code]).toEqual([409, 'idempotency_key_reused']);
      const colleague = await send(await testApp.clientFor({ partnerId }), 'a', { rows: customers(2) });
      expect([colleague.status, colleague.headers['idempotency-replayed']]).toEqual([200, undefined]);
      const stranger = await send((await freshPartner()).client, 'a', body);
      expect([stranger.body.imported.length, stranger.headers['idempotency-replayed']]).toEqual([1, undefined]);
    });

    it('refuses a malformed key and two different keys', async () => {
      const { client } = await freshPartner();
      for (const key of ['with space', 'x'.repeat(256), 'caf\u00e9']) {
        const { status, body } = await send(client, key, { rows: [] });
        expect([key, status, body.code]).toEqual([key, 400, 'invalid_idempotency_key']);
      }
      const two = await send(client, 'a', { rows: [] }).set('X-Idempotency-Key', 'b');
      expect([two.status, two.body.code]).toEqual([400, 'invalid_idempotency_key']);
      expect((await send(client, 'a', { rows: [] }).set('X-Idempotency-Key', 'a')).status).toBe(200);
    });

    it('has one effect when 20 requests with one key race', async () => {
      const { client, partnerId } = await freshPartner();
      const body = { rows: [{ organization: 'Only one' }] };
      const responses = await Promise.all(Array.from({ length: 20 }, () => send(client, 'race', body)));
      expect(await countOf('organization', partnerId)).toBe(1);
      const done = responses.filter(({ status }) => status === 200);
      const refused = responses.filter(({ status }) => status !== 200);
      expect(done.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
      for (const { status, body: refusal, headers } of refused) {
        expect([status, refusal.code, headers['retry-after']]).toEqual([409, 'idempotency_key_in_use', '1']);
      }
      expect(refused.length).toBeGreaterThan(0);
      expect((await send(client, 'race', body)).headers['idempotency-replayed']).toBe('true');
    });

    it('frees the key when the request is refused', async () => {
      const { client, partnerId } = await freshPartner();
      expect((await send(client, 'a', { rows: [{}] })).status).toBe(400);
      expect((await send(client, 'a', { rows: customers(1) })).status).toBe(200);
      expect(await countOf('organization', partnerId)).toBe(1);
    });

    it('stores no response above the limit, and refuses the repeated request without a second effect', async () => {
      const { client, partnerId } = await freshPartner();
      const rows = customers(3);
      const limit = jest.replaceProperty(IDEMPOTENCY_LIMITS, 'responseBytes', 100);
      const first = await send(client, 'large', { rows });
      limit.restore();
      expect([first.status, first.body.imported.length]).toEqual([200, 3]);
      const again = await send(client, 'large', { rows });
      expect([again.status, again.body.code]).toEqual([409, 'idempotent_response_not_stored']);
      expect(await countOf('organization', partnerId)).toBe(3);
    });

    it.each([
      ['responses', IDEMPOTENCY_LIMITS.responsesPerCaller, 1],
      ['bytes', IDEMPOTENCY_LIMITS.bytesPerCaller / 1_000_000, 1_000_000],
    ])('refuses new keys of a caller with too many stored %s', async (_what, count, size) => {
      const { client, partnerId } = await freshPartner();
      const first = await send(client, 'first', { rows: customers(1) });
      await testApp.admin.query(
        `insert into idempotency_record (id, partner_id, caller_id, body_hash, response, expires_at)
         select encode(sha256((random() || '-' || n)::text::bytea), 'hex'), partner_id, caller_id, '', repeat('x', $3),
           now() + interval '90 seconds'
         from idempotency_record, generate_series(1, $2::integer) n where partner_id = $1`,
        [partnerId, count, size],
      );
      const refused = await send(client, 'new', { rows: customers(2) });
      expect([refused.status, refused.body.code]).toEqual([429, 'too_many_idempotency_keys']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(60);
      expect(await countOf('organization', partnerId)).toBe(1);
      const replayed = await send(client, 'first', { rows: customers(1) });
      expect([replayed.body, replayed.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
      expect((await client.post('/orgs/import', { rows: customers(2) })).status).toBe(200);
      const colleague = await send(await testApp.clientFor({ partnerId }), 'new', { rows: customers(1, 9) });
      expect(colleague.status).toBe(200);
    });

    it('forgets responses when they expire, and deletes them in batches', async () => {
      const { client, partnerId } = await freshPartner();
      await send(client, 'a', { rows: customers(1) });
      const expire = `update idempotency_record set expires_at = now() - interval '1 second' where partner_id = $1`;
      await testApp.admin.query(expire, [partnerId]);
      const again = await send(client, 'a', { rows: customers(2) });
      expect([again.status, again.headers['idempotency-replayed']]).toEqual([200, undefined]);
      await testApp.admin.query(expire, [partnerId]);
      await testApp.admin.query(
        `insert into idempotency_record (id, partner_id, caller_id, body_hash, response, expires_at)
         select encode(sha256(n::text::bytea), 'hex'), $1, '', '', '', now() - interval '1 second'
           from generate_series(1, 1200) n`,
        [partnerId],
      );
      expect(await testApp.app.get(PurgeIdempotencyRecordsJob).run()).toBe(1_201);
      expect(await countOf('idempotency_record', partnerId)).toBe(0);
    });
  });
});
