import { randomUUID } from 'node:crypto';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

const PREVIEW = '/orgs/contacts/import/preview';
const COMMIT = '/orgs/contacts/import';

const contactRows = (organization: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => ({
    organization,
    name: `Contact ${from + index}`,
    email: `contact-${from + index}@acme.example`,
    roles: ['technical'],
    externalId: `P-${from + index}`,
  }));

describe('/orgs/contacts/import', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  async function freshPartner() {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id as string;
    return { partnerId, client, orgId };
  }
  const rowsOf = async (partnerId: string) =>
    (await testApp.admin.query('select xmin::text, * from contact where partner_id = $1 order by name', [partnerId]))
      .rows as { xmin: string; id: string; name: string }[];

  it('previews without a write, creates contacts and links, and changes nothing when repeated', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const rows = contactRows('acme', 300);
    const preview = await client.post(PREVIEW, { rows });
    expect(preview.status).toBe(200);
    expect(preview.body.rows[42]).toEqual({
      ...rows[42],
      index: 42,
      annotation: 'create',
      organizationId: orgId,
      organisationName: 'Acme', // cspell:disable-line
      organizationName: 'Acme',
      siteId: null,
      contactId: null,
    });
    expect(await rowsOf(partnerId)).toEqual([]);

    const commit = await client.post(COMMIT, { rows });
    expect(commit.status).toBe(200);
    expect(commit.body).toMatchObject({ updated: [], skipped: [], errors: [], warnings: [] });
    expect(commit.body.imported).toHaveLength(300);
    expect(commit.body.imported[0]).toEqual({
      index: 0,
      organizationId: orgId,
      contactId: expect.any(String),
      name: 'Contact 1',
      createdLink: true,
    });
    const stored = await rowsOf(partnerId);
    const again = await client.post(COMMIT, { rows });
    expect(again.body).toMatchObject({ imported: [], updated: [], errors: [] });
    expect(again.body.skipped[0]).toEqual({
      index: 0,
      organizationId: orgId,
      contactId: commit.body.imported[0].contactId,
      reason: 'already_linked',
    });
    const updated = await client.post(COMMIT, { rows, mode: 'update' });
    expect([updated.body.updated.length, updated.body.errors]).toEqual([300, []]);
    expect(await rowsOf(partnerId)).toEqual(stored);
    const entry = await testApp.waitForMessage('contact.import', (envelope) => envelope.orgId === orgId);
    expect(entry.data).toMatchObject({ details: { imported: 300, updated: 0 } });
    expect(JSON.stringify(entry)).not.toContain('Contact 1');
  });

  it('applies a hint when annotation and contact of the preview are repeated', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const site = (await client.post('/orgs/sites', { orgId, name: 'Main' })).body.id as string;
    await client.post(`/orgs/organizations/${orgId}/contacts`, {
      name: 'Kim',
      email: 'kim@acme.example',
      title: 'CTO',
    });
    const row = { organizationId: orgId, email: 'KIM@acme.example', phone: '1', site: 'main', externalId: 'K' };
    const [shown] = (await client.post(PREVIEW, { rows: [row] })).body.rows;
    expect(shown).toMatchObject({
      annotation: 'email-match',
      matchedContactName: 'Kim',
      matchedContactEmail: 'kim@acme.example',
      siteId: site,
    });
    expect((await client.post(COMMIT, { rows: [row] })).body.errors).toMatchObject([{ code: 'match-unconfirmed' }]);
    const pins = { expectedAnnotation: shown.annotation, expectedContactId: shown.contactId };
    const { body } = await client.post(COMMIT, { rows: [{ ...row, ...pins }] });
    expect(body.updated).toEqual([
      { index: 0, organizationId: orgId, contactId: shown.contactId, name: 'Kim', createdLink: true },
    ]);
    expect(await rowsOf(partnerId)).toMatchObject([{ name: 'Kim', phone: '1', title: 'CTO', site_id: site }]);
  });

  it('imports the good rows next to bad ones', async () => {
    const { client } = await freshPartner();
    const { body } = await client.post(COMMIT, {
      rows: [
        { organization: 'Acme', name: 'Good', fax: '1' },
        { organization: 'Unknown', name: 'A' },
        { organization: 'Acme', name: 'B', roles: ['owner'] },
        { organization: 'Acme', name: 'C', site: 'Nowhere' },
        { organization: 'Acme', phone: 'n/a' },
      ],
    });
    expect(body.imported).toMatchObject([{ index: 0 }]);
    expect(body.errors.map(({ index, code }: { index: number; code: string }) => [index, code])).toEqual([
      [1, 'org-not-found'],
      [2, 'invalid-role'],
      [3, 'site-not-in-org'],
      [4, 'no-identifier'],
    ]);
    expect(body.warnings).toEqual([{ code: 'unknown-column', column: 'fax', rows: [0] }]);
  });

  it('refuses the whole request for a malformed row, and for more than 1,000 rows', async () => {
    const { client, partnerId } = await freshPartner();
    for (const rows of [
      [{ organization: 'Acme', name: 'A' }, { organization: 'Acme' }],
      contactRows('Acme', 1_001),
      'x',
    ]) {
      for (const path of [PREVIEW, COMMIT]) {
        expect((await client.post(path, { rows })).body).toMatchObject({ code: 'validation_failed' });
      }
    }
    expect(await rowsOf(partnerId)).toEqual([]);
  });

  it('finds no organization of another partner, or outside of the selected ones', async () => {
    const { orgId, partnerId } = await freshPartner();
    const other = await freshPartner();
    const limited = await testApp.clientFor({ partnerId, orgAccess: 'selected', orgIds: [randomUUID()] });
    for (const client of [other.client, limited]) {
      const { body } = await client.post(COMMIT, { rows: [{ organizationId: orgId, name: 'A' }] });
      expect(body.errors).toMatchObject([{ code: 'org-not-found' }]);
    }
    const foreign = await other.client.post(COMMIT, { rows: [], partnerId });
    expect([foreign.status, foreign.body.code]).toEqual([403, 'partner_access_denied']);
    expect(await rowsOf(partnerId)).toEqual([]);
  });

  it('creates nothing twice when two imports of the same rows race', async () => {
    const { client, partnerId } = await freshPartner();
    const rows = contactRows('Acme', 50);
    const responses = await Promise.all([client.post(COMMIT, { rows }), client.post(COMMIT, { rows })]);
    const counts = responses.map(({ body }) => [body.imported.length, body.skipped.length]);
    expect(counts.sort()).toEqual([
      [0, 50],
      [50, 0],
    ]);
    expect(await rowsOf(partnerId)).toHaveLength(50);
  });

  it('repeats the stored response with an idempotency key', async () => {
    const { client, partnerId } = await freshPartner();
    const rows = contactRows('Acme', 3);
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await client.post(COMMIT, { rows }).set(key);
    const second = await client.post(COMMIT, { rows }).set(key);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.body).toEqual(first.body);
    expect((await client.post(COMMIT, { rows: [] }).set(key)).body).toMatchObject({ code: 'idempotency_key_reused' });
    expect(await rowsOf(partnerId)).toHaveLength(3);
  });

  it('writes the other rows when one cannot be written', async () => {
    const { client, partnerId } = await freshPartner();
    await testApp.admin.query(
      `alter table contact add constraint poison check (name is distinct from 'Contact 7') not valid`,
    );
    try {
      const { body } = await client.post(COMMIT, { rows: contactRows('Acme', 40) });
      expect(body.errors).toEqual([
        { index: 6, organization: 'Acme', error: 'The row could not be written', code: 'write-failed' },
      ]);
      expect(body.imported).toHaveLength(39);
      expect(await rowsOf(partnerId)).toHaveLength(39);
    } finally {
      await testApp.admin.query('alter table contact drop constraint poison');
    }
  });

  it('is open to partner and system scope with permission and MFA only', async () => {
    const { partnerId, orgId } = await freshPartner();
    const rows = [{ organizationId: orgId, name: 'A' }];
    const refusals = [
      [{ partnerId, mfa: false }, 'mfa_required'],
      [{ partnerId, permissions: ['organizations:read'] }, 'permission_denied'],
      [{ scope: 'organization', partnerId, orgId }, 'scope_not_allowed'],
    ] as const;
    for (const [user, code] of refusals) {
      const refused = await (await testApp.clientFor(user as never)).post(COMMIT, { rows });
      expect([refused.status, refused.body.code]).toEqual([403, code]);
    }
    const platform = await testApp.clientFor({ scope: 'system' } as never);
    expect((await platform.post(COMMIT, { rows })).status).toBe(400);
    expect((await platform.post(COMMIT, { rows, partnerId })).body.imported).toHaveLength(1);
  });
});
