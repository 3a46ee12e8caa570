import ExcelJS from 'exceljs';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import request from 'supertest';
import { JobScheduler } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { storedState } from '../../test/stored-state.js';
import { zipArchive } from '../../test/zip-archive.js';
import { CommitRowsService } from './steps/commit-rows.service.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('/imports', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  async function freshPartner(caps = {}) {
    const partnerId = await testApp.createPartner(caps);
    const token = await testApp.identity.signIn({ partnerId });
    return { partnerId, token, client: testApp.client(token) };
  }
  const upload = (
    token: string,
    file: Buffer | string,
    fields: Record<string, string> = {},
    name = 'customers.csv',
  ) => {
    const call = request(testApp.url).post('/imports').set('Authorization', `Bearer ${token}`);
    for (const [field, value] of Object.entries({ kind: 'organizations', ...fields })) void call.field(field, value);
    return call.attach('file', Buffer.from(file), name);
  };
  const settled = (client: Client, id: string) =>
    eventually(async () => {
      const { body } = await client.get(`/imports/${id}`);
      expect(['parsing', 'annotating', 'committing', 'undoing']).not.toContain(body.state);
      return body;
    });
  async function uploaded({ token, client }: { token: string; client: Client }, file: Buffer | string, fields = {}) {
    const response = await upload(token, file, fields);
    expect(response.status).toBe(202);
    return settled(client, response.body.id);
  }

  it('receives two files of a partner at a time and refuses a third before it reads the form', async () => {
    const { token } = await freshPartner();
    const stalled = [0, 1].map(() => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'multipart/form-data; boundary=b' };
      const request = http.request(`${testApp.url}/imports`, { method: 'POST', headers });
      request.on('error', () => undefined);
      request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nstart of the file');
      return request;
    });
    const third = () => upload(token, 'Company\nAcme\n').then(({ status, body }) => [status, body.code]);
    await eventually(async () => expect(await third()).toEqual([429, 'rate_limited']));
    for (const request of stalled) request.destroy();
    await eventually(async () => expect(await third()).toEqual([202, undefined]));
  });

  it('starts to work on a run when a request for it is committed, and not when it is cancelled', async () => {
    const partner = await freshPartner();
    const start = jest.spyOn(testApp.app.get(JobScheduler), 'start');
    const run = await uploaded(partner, 'Company\nAcme\n', { mapping: '{"organization":"Company"}' });
    expect(start.mock.calls).toEqual([['process-import-runs'], ['process-more-import-runs']]);
    const other = await uploaded(partner, 'Company\nBeta\n');
    start.mockClear();
    expect((await partner.client.post(`/imports/${other.id}/cancel`)).status).toBe(200);
    expect(start).not.toHaveBeenCalled();
    expect((await partner.client.post(`/imports/${run.id}/commit`, {})).status).toBe(202);
    expect(start).toHaveBeenCalledTimes(2);
    start.mockRestore();
    expect(await settled(partner.client, run.id)).toMatchObject({ state: 'completed', imported: 1 });
  });

  it('previews, commits and undoes a CSV file', async () => {
    const partner = await freshPartner();
    const { client, partnerId } = partner;
    await client.post('/orgs/import', { rows: [{ organization: 'Acme', externalId: 'C-1', site: 'Berlin' }] });
    const before = await storedState(testApp.admin, partnerId);
    const run = await uploaded(
      partner,
      'Company;Account number;Site;Time zone;Notes\r\nAcme;C-1;Berlin;Europe/Berlin;x\r\n"Beta; Inc";C-2;;;\r\n;C-3;;;\r\nGamma;C-4;;Mars;\r\n',
      {
        mapping: JSON.stringify({
          organization: 'Company',
          externalId: 'Account number',
          site: 'Site',
          timezone: 'Time zone',
        }),
      },
    );
    const annotations = { create: 1, 'link-match': 1, invalid: 2 };
    expect(run).toMatchObject({ state: 'ready', total: 4, done: 4, annotations });
    const rows = (await client.get(`/imports/${run.id}/rows`)).body.data;
    expect(rows[1]).toMatchObject({ line: 3, annotation: 'create', cells: { Company: 'Beta; Inc' } });
    expect(rows[3].reason).toMatch(/timezone must be an IANA time zone/);
    expect(await storedState(testApp.admin, partnerId)).toEqual(before);

    const commit = await client.post(`/imports/${run.id}/commit`, { mode: 'update' });
    expect(commit.status).toBe(202);
    const done = await settled(client, run.id);
    expect(done).toMatchObject({ state: 'completed_with_errors', imported: 1, updated: 1, failed: 2, done: 4 });
    const errors = await client.get(`/imports/${run.id}/errors`);
    expect(errors.text.split('\n')[0]).toBe(
      '\uFEFFCompany,Account number,Site,Time zone,Notes,import_line,error_code,error',
    );
    expect(errors.text).toContain('Gamma,C-4,,Mars,,5,invalid-row,timezone must be an IANA time zone');

    expect((await client.post(`/imports/${run.id}/undo`)).status).toBe(202);
    expect(await settled(client, run.id)).toMatchObject({
      state: 'undone',
      undo: { restored: 2, kept: 0, until: null },
    });
    expect(await storedState(testApp.admin, partnerId)).toEqual(before);
  });

  it('reads XLSX with formulas, dates and blank rows, and guesses its columns', async () => {
    const partner = await freshPartner();
    const workbook = new ExcelJS.Workbook();
    const sheet = workbook.addWorksheet('Customers');
    sheet.addRow(['Customer name', 'Customer ID', 'City', 'Since']);
    sheet.addRow(['Acme', 17, 'Berlin', new Date('2024-02-03T00:00:00Z')]);
    sheet.addRow([]);
    sheet.addRow([
      { formula: 'CONCAT("Be","ta")', result: 'Beta' },
      '18',
      { richText: [{ text: 'Par' }, { text: 'is' }] },
    ]);
    const run = await uploaded(partner, Buffer.from(await workbook.xlsx.writeBuffer()));
    expect(run).toMatchObject({
      state: 'ready',
      total: 2,
      mapping: { organization: 'Customer name', externalId: 'Customer ID', 'address.city': 'City' },
      annotations: { create: 2 },
    });
    const { data } = (await partner.client.get(`/imports/${run.id}/rows`)).body;
    expect(data.map(({ line, cells }: { line: number; cells: object }) => [line, cells])).toEqual([
      [2, { 'Customer name': 'Acme', 'Customer ID': '17', City: 'Berlin', Since: '2024-02-03T00:00:00.000Z' }],
      [4, { 'Customer name': 'Beta', 'Customer ID': '18', City: 'Paris', Since: '' }],
    ]);
  });

  it('maps columns again before the commit and not after it', async () => {
    const partner = await freshPartner();
    const { client } = partner;
    const run = await uploaded(partner, 'A,B\nAcme,x\nBeta,y\n');
    expect(run).toMatchObject({ state: 'ready', mapping: {}, annotations: {} });
    const early = await client.post(`/imports/${run.id}/commit`);
    expect([early.status, early.body.code]).toEqual([409, 'import_mapping_incomplete']);
    const wrong = await client.patch(`/imports/${run.id}`, { mapping: { organization: 'C', planet: 'A' } });
    expect(wrong.body.details.fieldErrors).toEqual({
      'mapping.organization': ['is not a column of the file'],
      'mapping.planet': ['unknown field'],
    });
    expect((await client.patch(`/imports/${run.id}`, { mapping: { organization: 'A' } })).status).toBe(200);
    expect(await settled(client, run.id)).toMatchObject({ state: 'ready', annotations: { create: 2 } });
    expect((await client.patch(`/imports/${run.id}`, { mapping: { organization: 'B' } })).status).toBe(200);
    await settled(client, run.id);
    await client.post(`/imports/${run.id}/commit`);
    expect(await settled(client, run.id)).toMatchObject({ state: 'completed', imported: 2 });
    const names = (await client.get('/orgs/organizations?sort=name')).body.data.map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(['x', 'y']);
    expect((await client.patch(`/imports/${run.id}`, { mapping: { organization: 'A' } })).status).toBe(409);
  });

  it('imports the rows of one organization together, wherever they are in the file', async () => {
    const partner = await freshPartner({ maxOrganizations: 5_000 });
    const filler = Array.from({ length: 1_500 }, (_, n) => `Filler ${n},F-${n},`).join('\n');
    const run = await uploaded(partner, `organization,externalId,site\nAcme,A-1,North\n${filler}\nAcme,A-1,South\n`);
    expect(run).toMatchObject({ total: 1_502, annotations: { create: 1_502 } });
    await partner.client.post(`/imports/${run.id}/commit`);
    const done = await settled(partner.client, run.id);
    expect(done).toMatchObject({ state: 'completed', imported: 1_502, failed: 0, done: 1_502 });
    const { rows } = await testApp.admin.query(
      `SELECT s.name FROM site s JOIN organization o ON o.id = s.org_id
        WHERE o.partner_id = $1 AND o.name = 'Acme' ORDER BY s.name`,
      [partner.partnerId],
    );
    expect(rows).toEqual([{ name: 'North' }, { name: 'South' }]);
  });

  describe('of rows that name one organization in two ways, far from each other', () => {
    const CHUNK = 2_000; // rows of a transaction

    it('previews one contact as created once, as the commit creates it', async () => {
      const partner = await freshPartner();
      const orgId = (await partner.client.post('/orgs/organizations', { name: 'Acme' })).body.id;
      const filler = Array.from({ length: CHUNK }, (_, n) => `,Unknown ${n},ann@acme.example\n`).join('');
      const file = `organizationId,organization,email\n${orgId},,ann@acme.example\n${filler},acme,ann@acme.example\n`;
      const run = await uploaded(partner, file, { kind: 'contacts' });
      expect(run.annotations).toEqual({ create: 1, 'email-match': 1, 'org-not-found': CHUNK });
      await partner.client.post(`/imports/${run.id}/commit`, { confirmMatches: true });
      expect(await settled(partner.client, run.id)).toMatchObject({ imported: 1, updated: 0, failed: CHUNK + 1 });
      const failed = (await partner.client.get(`/imports/${run.id}/rows?annotation=email-match`)).body.data;
      expect(failed).toMatchObject([{ index: CHUNK + 1, code: 'match-unconfirmed' }]);
    });

    it('restores a deleted organization once and updates it by all rows', async () => {
      const partner = await freshPartner({ maxOrganizations: 5_000 });
      const { client } = partner;
      const linked = { organization: 'Acme', externalId: 'A-1', site: 'North' };
      const [{ organizationId }] = (await client.post('/orgs/import', { rows: [linked] })).body.imported;
      await client.delete(`/orgs/organizations/${organizationId}`);
      const filler = Array.from({ length: CHUNK }, (_, n) => `Filler ${n},F-${n},\n`).join('');
      const file = `organization,externalId,site\nAcme Inc,A-1,North\n${filler}acme,,South\n`;
      const run = await uploaded(partner, file);
      expect(run.annotations).toEqual({ create: CHUNK, 'matched-soft-deleted': 2 });
      await client.post(`/imports/${run.id}/commit`, { mode: 'update', reactivate: true });
      expect(await settled(client, run.id)).toMatchObject({ state: 'completed', imported: CHUNK, updated: 2 });
      const sites = (await client.get(`/orgs/sites?orgId=${organizationId}&sort=name`)).body.data;
      expect(sites.map(({ name }: { name: string }) => name)).toEqual(['North', 'South']);
    });
  });

  it('confirms matches by name once for all rows or for single ones, and pins rows to their preview', async () => {
    const partner = await freshPartner();
    const { client } = partner;
    for (const name of ['Acme', 'Beta', 'Gamma']) await client.post('/orgs/organizations', { name });
    const run = await uploaded(partner, 'organization,externalId\nAcme,A\nBeta,B\nGamma,C\nDelta,D\n');
    expect(run.annotations).toEqual({ 'name-match': 3, create: 1 });
    const { data } = (await client.get(`/imports/${run.id}/rows?annotation=name-match&limit=2`)).body;
    expect(data).toHaveLength(2);
    await client.post('/orgs/organizations', { name: 'Delta' });
    const rows = [{ index: 0, expectedAnnotation: 'name-match', expectedOrganizationId: data[0].matchId }];
    await client.post(`/imports/${run.id}/commit`, { rows });
    const done = await settled(client, run.id);
    expect(done).toMatchObject({ state: 'completed_with_errors', skipped: 1, failed: 3 });
    const failed = (await client.get(`/imports/${run.id}/rows?result=failed`)).body.data;
    expect(failed.map(({ code }: { code: string }) => code)).toEqual([
      'name-match-unconfirmed',
      'name-match-unconfirmed',
      'annotation-changed',
    ]);
    const again = await uploaded(partner, 'organization,externalId\nBeta,B\nGamma,C\n');
    await client.post(`/imports/${again.id}/commit`, { confirmMatches: true });
    expect(await settled(client, again.id)).toMatchObject({ state: 'completed', skipped: 2, failed: 0 });
  });

  it('imports contacts with roles, sites and matches by e-mail address', async () => {
    const partner = await freshPartner();
    const { client } = partner;
    const orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    await client.post(`/orgs/organizations/${orgId}/contacts`, { name: 'Ann', email: 'ann@acme.example' });
    const run = await uploaded(
      partner,
      'Company,Full name,E-mail,Role,Site\nacme,Ann A.,ann@acme.example,billing; technical,\nacme,Bob,bob@acme.example,,\nOther,Eve,eve@x.example,,\nacme,Joe,no address,,\nacme,Sue,,,Nowhere\n',
      {
        kind: 'contacts',
        mapping: JSON.stringify({
          organization: 'Company',
          name: 'Full name',
          email: 'E-mail',
          roles: 'Role',
          site: 'Site',
        }),
      },
    );
    expect(run.annotations).toEqual({ 'email-match': 1, create: 1, 'org-not-found': 1, invalid: 1, conflict: 1 });
    await client.post(`/imports/${run.id}/commit`, { mode: 'update', confirmMatches: true });
    expect(await settled(client, run.id)).toMatchObject({ imported: 1, updated: 1, failed: 3 });
    const { data } = (await client.get(`/orgs/organizations/${orgId}/contacts?sort=name`)).body;
    expect(data.map(({ name, roles }: { name: string; roles: string[] }) => [name, roles])).toEqual([
      ['Ann A.', ['billing', 'technical']],
      ['Bob', []],
    ]);
    await client.post(`/imports/${run.id}/undo`);
    expect(await settled(client, run.id)).toMatchObject({ state: 'undone', undo: { restored: 2, kept: 0 } });
    const after = (await client.get(`/orgs/organizations/${orgId}/contacts`)).body.data;
    expect(after).toMatchObject([{ name: 'Ann', roles: [] }]);
  });

  describe('a file that cannot be imported', () => {
    const zipped = async (fill: (sheet: ExcelJS.Worksheet) => void) => {
      const workbook = new ExcelJS.Workbook();
      fill(workbook.addWorksheet('x'));
      return Buffer.from(await workbook.xlsx.writeBuffer());
    };
    it.each<[string, string, () => Buffer | string | Promise<Buffer>]>([
      ['is a header alone', 'import_file_empty', () => 'organization,site\n'],
      ['is binary', 'import_file_unsupported', () => Buffer.from([1, 2, 3, 0, 255, 254, 7])],
      ['is an old Excel file', 'import_file_unsupported', () => Buffer.from('d0cf11e0a1b11ae1', 'hex')],
      ['has a column twice', 'import_file_duplicate_column', () => 'organization,site,site\nAcme,a,b\n'],
      ['has an open quote', 'import_file_malformed', () => 'organization\n"Acme\n'],
      ['has too many columns', 'import_file_too_many_columns', () => `${'a,'.repeat(256)}\nAcme\n`],
      ['is a broken archive', 'import_file_malformed', () => Buffer.from('504b0304ffffffff', 'hex')],
      ['is an archive without a sheet', 'import_file_empty', () => zipArchive({ name: 'x.xml', content: '<x/>' })],
      [
        'is a zip bomb',
        'import_file_too_large',
        () => zipArchive({ name: 'xl/worksheets/sheet1.xml', content: Buffer.alloc(30_000_000) }),
      ],
      [
        'declares entities',
        'import_file_malformed',
        () => zipArchive({ name: 'x.xml', content: '<!DOCTYPE x [<!ENTITY a "b">]>' }),
      ],
      ['has a blank sheet', 'import_file_empty', () => zipped((sheet) => void sheet.addRow([]))],
    ])('that %s ends the run with %s', async (_, code, file) => {
      const partner = await freshPartner();
      const run = await uploaded(partner, await file());
      expect(run).toMatchObject({ state: 'failed', failure: { code } });
      expect((await partner.client.post(`/imports/${run.id}/commit`)).status).toBe(409);
    });

    it('is refused when it is empty, missing, too large, of no known kind or of another partner', async () => {
      const { token, client } = await freshPartner();
      expect((await upload(token, '')).body).toMatchObject({
        code: 'validation_failed',
        details: { fieldErrors: { file: ['is required'] } },
      });
      const form = (fields: Record<string, string>) => upload(token, 'organization\nAcme\n', fields);
      expect((await form({ kind: 'devices' })).status).toBe(400);
      expect((await form({ mapping: '{"organization":1}' })).body.details.fieldErrors).toHaveProperty('mapping');
      expect((await form({ partnerId: randomUUID() })).status).toBe(403);
      expect((await upload(token, Buffer.alloc(26 * 1024 * 1024, 97))).status).toBe(413);
      expect((await client.get('/imports')).body.data).toEqual([]);
    });
  });

  it.each<[string, Buffer]>([
    ['UTF-8 with a mark', Buffer.from('\uFEFForganization\nMüller\n')],
    ['UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('organization\nMüller\n', 'utf16le')])],
    ['Windows-1252', Buffer.from('organization\nMüller\n', 'latin1')],
  ])('reads names in %s', async (_, file) => {
    const partner = await freshPartner();
    const run = await uploaded(partner, file);
    const { data } = (await partner.client.get(`/imports/${run.id}/rows`)).body;
    expect(data).toMatchObject([{ cells: { organization: 'Müller' }, annotation: 'create' }]);
  });

  it('escapes formulas in the file of refused rows, reports ragged rows and keeps the rest', async () => {
    const partner = await freshPartner();
    const run = await uploaded(partner, 'organization,timezone\n=HYPERLINK("x"),Mars\nAcme,UTC,more\nBeta\n');
    expect(run.annotations).toEqual({ invalid: 2, create: 1 });
    const { text } = await partner.client.get(`/imports/${run.id}/errors`);
    expect(text).toContain(`"'=HYPERLINK(""x"")",Mars,2,invalid`);
    expect(text).toContain('Acme,UTC,3,invalid,"The row has 3 cells, the header has 2"');
  });

  it('shows a run to its partner alone, and a restricted member only its own', async () => {
    const partner = await freshPartner();
    const run = await uploaded(partner, 'organization\nAcme\n');
    const stranger = (await freshPartner()).client;
    const restricted = await testApp.clientFor({ partnerId: partner.partnerId, orgAccess: 'selected', orgIds: [] });
    for (const client of [stranger, restricted]) {
      for (const path of ['', '/rows', '/changes', '/errors', '/events']) {
        expect((await client.get(`/imports/${run.id}${path}`)).status).toBe(404);
      }
      for (const action of ['commit', 'cancel', 'undo']) {
        expect((await client.post(`/imports/${run.id}/${action}`)).status).toBe(404);
      }
      expect((await client.get('/imports')).body.data).toEqual([]);
    }
    expect((await partner.client.get('/imports?state=ready')).body.data).toMatchObject([{ id: run.id }]);
    expect((await partner.client.get('/imports?kind=contacts')).body.data).toEqual([]);
    const forbidden = await upload(
      await testApp.identity.signIn({ partnerId: partner.partnerId, orgAccess: 'selected', orgIds: [] }),
      'organization\nA\n',
    );
    expect(forbidden.status).toBe(403);
  });

  it('streams the progress until the preview is ready', async () => {
    const partner = await freshPartner();
    const { body } = await upload(partner.token, 'organization\nAcme\n');
    const { text, headers } = await partner.client
      .get(`/imports/${body.id}/events`)
      .buffer(true)
      .parse((stream, done) => {
        let data = '';
        stream.on('data', (chunk) => (data += chunk));
        stream.on('end', () => done(null, data));
      })
      .then(({ body: streamed, headers: sent }) => ({ text: streamed as string, headers: sent }));
    expect(headers['content-type']).toMatch(/^text\/event-stream/);
    const states = [...text.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state);
    expect(states.at(-1)).toBe('ready');
    expect(text).toContain('event: progress');
  });

  it('continues a commit of another process at the next chunk, and rolls back a chunk whose lease is lost', async () => {
    const partner = await freshPartner({ maxOrganizations: 10_000 });
    const { client, partnerId } = partner;
    const names = Array.from({ length: 2_500 }, (_, n) => `Customer ${n}\n`).join('');
    const run = await uploaded(partner, `organization\n${names}`);
    const commits = testApp.app.get(CommitRowsService);
    const runChunk = commits.runChunk.bind(commits);
    let chunks = 0;
    // During the second chunk another replica takes the run and dies: its lease is over.
    const spy = jest.spyOn(commits, 'runChunk').mockImplementation(async (caller, leased) => {
      chunks += 1;
      if (chunks === 2) {
        await testApp.admin.query(
          `UPDATE import_run SET lease_id = gen_random_uuid(), leased_until = now() WHERE id = $1`,
          [leased.id],
        );
      }
      return runChunk(caller, leased);
    });
    try {
      await client.post(`/imports/${run.id}/commit`);
      const done = await settled(client, run.id);
      expect(done).toMatchObject({ state: 'completed', imported: 2_500, failed: 0, done: 2_500 });
    } finally {
      spy.mockRestore();
    }
    const { rows } = await testApp.admin.query('SELECT count(*)::int AS n FROM organization WHERE partner_id = $1', [
      partnerId,
    ]);
    expect(rows[0].n).toBe(2_500);
  });

  it('stops with access_revoked when the user loses the permission, and continues for another user', async () => {
    const partner = await freshPartner();
    const run = await uploaded(partner, 'organization\nAcme\n');
    const waiting = jest.spyOn(testApp.app.get(CommitRowsService), 'runChunk').mockResolvedValue(true);
    await partner.client.post(`/imports/${run.id}/commit`);
    testApp.identity.change(testApp.identity.userIdOf(partner.token), { permissions: ['organizations:read'] });
    const failed = await settled(partner.client, run.id);
    waiting.mockRestore();
    expect(failed).toMatchObject({ state: 'failed', imported: 0, failure: { code: 'access_revoked' } });
    const colleague = await testApp.clientFor({ partnerId: partner.partnerId });
    expect((await colleague.post(`/imports/${run.id}/commit`)).status).toBe(202);
    expect(await settled(colleague, run.id)).toMatchObject({ state: 'completed', imported: 1 });
  });

  it('cancels a run, whose commit is refused then, and answers a repeated commit with the stored response', async () => {
    const partner = await freshPartner();
    const { client } = partner;
    const cancelled = await uploaded(partner, 'organization\nAcme\n');
    expect((await client.post(`/imports/${cancelled.id}/cancel`)).body.state).toBe('cancelled');
    expect((await client.post(`/imports/${cancelled.id}/commit`)).body.code).toBe('import_run_state_conflict');
    const run = await uploaded(partner, 'organization\nAcme\n');
    const first = await client.post(`/imports/${run.id}/commit`).set('Idempotency-Key', 'k-1');
    await settled(client, run.id);
    const second = await client.post(`/imports/${run.id}/commit`).set('Idempotency-Key', 'k-1');
    expect(second.status).toBe(202);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.body).toEqual(first.body);
    expect((await client.post(`/imports/${run.id}/commit`)).status).toBe(409);
  });
});
