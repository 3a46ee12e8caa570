import { connectToFleet, eventually, partnerWithMfa, type ApiClient } from '@rmm/testing';
import { must, readAll } from '../steps.js';
import { killService, signalStore, untilReady } from './killing.js';

jest.setTimeout(600_000);

const BOUNDARY = 'rmm-form';

type Patience = Parameters<typeof eventually>[1];

const ACTIVE = new Set(['parsing', 'annotating', 'committing', 'undoing']);

/** Fields of an import run that the specs wait for; all absent in the body of an error. */
interface ImportRun {
  state?: string;
  done?: number;
  undo?: { restored: number };
}

/** Returns the body of a form with a file of text. */
function formOf(file: string, fields: Record<string, string>): string {
  const parts = Object.entries({ kind: 'organizations', ...fields }).map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="customers.csv"\r\n\r\n`;
  return `${parts.join('')}${head}${file}\r\n--${BOUNDARY}--\r\n`;
}

describe('import runs', () => {
  const fleet = connectToFleet();
  let ours: ApiClient;
  let theirs: ApiClient;

  beforeAll(async () => {
    ours = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
  });

  const upload = (client: ApiClient, file: string, fields: Record<string, string> = {}) =>
    client.send('POST', '/imports', formOf(file, fields), { contentType: `multipart/form-data; boundary=${BOUNDARY}` });
  /** Waits until a run is in some state. @throws Error  with the last response */
  const runUntil = (client: ApiClient, id: string, isExpected: (run: ImportRun) => boolean, patience?: Patience) =>
    eventually(async () => {
      const { status, body } = await client.get(`/imports/${id}`);
      if (!isExpected(body))
        throw new Error(`the import run is not in the expected state: ${status} ${JSON.stringify(body)}`);
      return body;
    }, patience);
  const settled = (client: ApiClient, id: string) => {
    const isSettled = ({ state }: ImportRun) => state !== undefined && !ACTIVE.has(state);
    return runUntil(client, id, isSettled, { timeoutMs: 180_000, everyMs: 500 });
  };
  const uploaded = async (client: ApiClient, file: string, fields: Record<string, string> = {}) =>
    settled(client, must(await upload(client, file, fields), 202).id);
  const namesOf = async (client: ApiClient, list = 'organizations'): Promise<string[]> => {
    const records = await readAll<{ name: string }>(client, `/orgs/${list}?sort=name&limit=100`);
    return records.map(({ name }) => name);
  };
  /** Returns the names of all organizations and sites of a partner. */
  const tenancyOf = async (client: ApiClient) => ({
    organizations: await namesOf(client),
    sites: await namesOf(client, 'sites'),
  });

  it('import a CSV file from its upload to its undo, invisible to another tenant', async () => {
    const before = await namesOf(ours);
    const run = await uploaded(ours, 'Company;ID;City\r\nAlpha AG;1;Bonn\r\nBeta AG;2;Rom\r\n;3;\r\n');
    expect(run).toMatchObject({ state: 'ready', annotations: { create: 2, invalid: 1 } });
    expect(await namesOf(ours)).toEqual(before);
    for (const path of ['', '/rows', '/errors', '/changes', '/events']) {
      expect((await theirs.get(`/imports/${run.id}${path}`)).status).toBe(404);
    }
    for (const action of ['commit', 'cancel', 'undo']) {
      expect((await theirs.post(`/imports/${run.id}/${action}`)).status).toBe(404);
    }

    must(await ours.post(`/imports/${run.id}/commit`, {}), 202);
    expect(await settled(ours, run.id)).toMatchObject({ state: 'completed_with_errors', imported: 2, failed: 1 });
    expect(await namesOf(ours)).toEqual([...before, 'Alpha AG', 'Beta AG'].sort());
    expect(must(await ours.get(`/imports/${run.id}/errors`), 200)).toContain('invalid-row');

    must(await ours.post(`/imports/${run.id}/undo`), 202);
    expect(await settled(ours, run.id)).toMatchObject({ state: 'undone', undo: { restored: 2, kept: 0 } });
    expect(await namesOf(ours)).toEqual(before);
  });

  it.each([
    ['that is binary', '\u0001\u0002\u0000', 'import_file_unsupported'],
    ['without rows', 'organization\n', 'import_file_empty'],
    ['with a column twice', 'a,a\n1,2\n', 'import_file_duplicate_column'],
    ['with an open quote', 'organization\n"Acme\n', 'import_file_malformed'],
  ])('name the reason for a file %s', async (_, file, code) => {
    expect(await uploaded(ours, file)).toMatchObject({ state: 'failed', failure: { code } });
  });

  it('refuse an empty file, a file that is too large and a request without factor', async () => {
    expect((await upload(ours, '')).status).toBe(400);
    expect((await upload(ours, 'a'.repeat(26 * 1024 * 1024))).status).toBe(413);
    expect((await upload(ours.as({}), 'organization\nAcme\n')).status).toBe(401);
  });

  const KILLS: [string, () => Promise<void>][] = [
    ['provisioning', () => killService('provisioning')],
    ['PostgreSQL', () => signalStore('postgres', 'SIGKILL')],
    ['Redis', () => signalStore('redis', 'SIGKILL')],
  ];

  it.each(KILLS)(
    'continue in mid-commit after %s was killed, without a row lost or imported twice',
    async (_, kill) => {
      const { client } = await partnerWithMfa(fleet);
      const before = await tenancyOf(client);
      const count = 8_000;
      const rows = Array.from({ length: count }, (_, n) => `Customer ${n >> 1},Site ${n}\n`).join('');
      const run = await uploaded(client, `organization,site\n${rows}`);
      expect(run.total).toBe(count);
      must(await client.post(`/imports/${run.id}/commit`, {}), 202);
      await runUntil(client, run.id, ({ done = 0 }) => done > 0);
      await kill();
      await untilReady();
      const done = await settled(client, run.id);
      expect(done.imported + done.failed).toBe(count);
      expect(done).toMatchObject({ state: expect.stringMatching(/^completed/), done: count });
      const refused = must(await client.get(`/imports/${run.id}/rows?result=failed&limit=1`), 200).data;
      expect(refused.every(({ code }: { code: string }) => code === 'organization-limit-reached')).toBe(true);
      const { organizations, sites } = await tenancyOf(client);
      expect(new Set(organizations).size).toBe(organizations.length);
      expect(sites).toHaveLength(before.sites.length + done.imported);
      expect(organizations).toHaveLength(before.organizations.length + done.imported / 2);
    },
  );

  it('continue in mid-undo after provisioning was killed, and restore the former state', async () => {
    const { client } = await partnerWithMfa(fleet);
    const before = await tenancyOf(client);
    const rows = Array.from({ length: 4_000 }, (_, n) => `Customer ${n >> 1},Site ${n}\n`).join('');
    const { id } = await uploaded(client, `organization,site\n${rows}`);
    must(await client.post(`/imports/${id}/commit`, {}), 202);
    const { imported } = await settled(client, id);
    must(await client.post(`/imports/${id}/undo`), 202);
    const hasBegun = ({ undo }: ImportRun) => (undo?.restored ?? 0) > 0;
    await runUntil(client, id, hasBegun, { timeoutMs: 180_000, everyMs: 50 });
    for (const replica of [0, 1]) await killService('provisioning', replica);
    await untilReady();
    const undone = { restored: imported / 2, kept: 0 };
    expect(await settled(client, id)).toMatchObject({ state: 'undone', undo: undone });
    expect(await tenancyOf(client)).toEqual(before);
  });

  it('of JSON rows are all or nothing when provisioning is killed, and complete when repeated', async () => {
    const { client } = await partnerWithMfa(fleet);
    const before = await namesOf(client);
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ organization: `Customer ${n}`, externalId: `C-${n}` }));
    const commit = () =>
      client.send('POST', '/orgs/import', { rows }, { headers: { 'idempotency-key': 'repeated-after-a-kill' } });
    const first = commit().catch(() => null);
    for (const replica of [0, 1]) await killService('provisioning', replica);
    await first;
    await untilReady();
    const stored = (await namesOf(client)).length - before.length;
    const { imported, errors } = await eventually(async () => must(await commit(), 200), {
      timeoutMs: 180_000,
      everyMs: 1_000,
    });
    expect([0, imported.length]).toContain(stored);
    expect(imported.length + errors.length).toBe(1_000);
    expect(await namesOf(client)).toHaveLength(before.length + imported.length);
  });
});
