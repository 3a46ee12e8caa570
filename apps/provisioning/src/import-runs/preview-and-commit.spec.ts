import request from 'supertest';
import { eventually } from '@rmm/testing-services';
import { buildContacts, buildOrganizations, contactRows, organizationRows } from '../../test/hostile-import.js';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { changedRows, type StoredRow, storedRows } from '../../test/stored-rows.js';
import type { ImportKind } from './import-run.entity.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;
type Row = Record<string, string | undefined>;

interface Choices {
  mode: 'skip' | 'update';
  confirmMatches: boolean;
  reactivate: boolean;
}

/** A row of a file as the preview showed it, and what became of it. */
interface Outcome {
  index: number;
  annotation: string;
  matchId: string | null;
  /** Reason in the preview. */
  reason: string | null;
  organizationId: string | null;
  result: string;
  code: string | null;
}

const ALREADY_LINKED = 'The organization is already linked in this system';
const CHANGED = ['annotation-changed', 'match-changed'];

/** Returns the result and code that the preview of a row promises, by the reference of the imports. */
function promisedOf(kind: ImportKind, row: Outcome, choices: Choices): [result: string, code: string | null] {
  const { mode, confirmMatches, reactivate } = choices;
  const isUpdate = mode === 'update';
  switch (row.annotation) {
    case 'invalid':
      return ['failed', 'invalid-row'];
    case 'org-not-found':
      return ['failed', 'org-not-found'];
    case 'create':
      return ['imported', null];
    case 'link-match':
      return isUpdate ? ['updated', null] : ['skipped', 'already_linked'];
    case 'matched-soft-deleted':
      if (!reactivate) return ['failed', 'soft-deleted-unconfirmed'];
      return row.reason === ALREADY_LINKED ? ['failed', 'match-already-linked'] : ['updated', null];
    case 'name-match':
    case 'email-match':
      if (kind === 'contacts')
        return confirmMatches && row.matchId ? ['updated', null] : ['failed', 'match-unconfirmed'];
      if (!confirmMatches) return ['failed', 'name-match-unconfirmed'];
      if (row.reason === ALREADY_LINKED) return ['failed', 'match-already-linked'];
      return isUpdate ? ['updated', null] : ['skipped', 'name_match_confirmed'];
    default:
      return ['failed', row.code]; // of a conflict, which has one of several codes
  }
}

/** A number is no identity: a contact with nothing else is another one each time. */
const isMatchable = ({ name, email, externalId }: Row): boolean =>
  Boolean(email ?? externalId) || /[\p{L}\p{N}]/u.test(name ?? '');

describe('the preview and the commit of an import', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  async function freshPartner() {
    const partnerId = await testApp.createPartner();
    const token = await testApp.identity.signIn({ partnerId });
    const client = testApp.client(token);
    const ids = await buildOrganizations(client);
    for (const name of ['Acme', 'Müller']) await buildContacts(client, ids[name] ?? '');
    return { token, client, ids, stored: () => storedRows(testApp.admin, partnerId) };
  }
  type Partner = Awaited<ReturnType<typeof freshPartner>>;

  const settled = (client: Client, id: string) =>
    eventually(async () => {
      const { body } = await client.get(`/imports/${id}`);
      expect(['parsing', 'annotating', 'committing']).not.toContain(body.state);
      return body;
    });
  const rowsOf = async (client: Client, id: string) => (await client.get(`/imports/${id}/rows?limit=200`)).body.data;

  /** Uploads a file, and commits its preview. */
  async function importFile({ token, client }: Partner, kind: ImportKind, rows: readonly Row[], choices: Choices) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const toLine = (cells: readonly (string | undefined)[]) => cells.map((cell) => `"${cell ?? ''}"`).join(',');
    const file = [toLine(columns), ...rows.map((row) => toLine(columns.map((column) => row[column])))].join('\n');
    const mapping = JSON.stringify(Object.fromEntries(columns.map((column) => [column, column])));
    const { body } = await request(testApp.url)
      .post('/imports')
      .set('Authorization', `Bearer ${token}`)
      .field({ kind, mapping })
      .attach('file', Buffer.from(file), 'rows.csv');
    const preview = await settled(client, body.id);
    expect(preview).toMatchObject({ state: 'ready', total: rows.length });
    const previewed = await rowsOf(client, body.id);
    expect((await client.post(`/imports/${body.id}/commit`, choices)).status).toBe(202);
    const run = await settled(client, body.id);
    const committed = await rowsOf(client, body.id);
    const outcomes: Outcome[] = committed.map((row: Outcome, at: number) => ({ ...row, reason: previewed[at].reason }));
    return { run, outcomes };
  }

  /** Repeats the annotation and the match of the preview in each row, as a caller who confirms all of it. */
  async function importRows({ client }: Partner, kind: ImportKind, rows: readonly Row[], choices: Choices) {
    const path = kind === 'contacts' ? '/orgs/contacts/import' : '/orgs/import';
    const preview = (await client.post(`${path}/preview`, { rows })).body.rows;
    const pinned = rows.map((row, at) => {
      const { annotation: expectedAnnotation, organizationId, contactId } = preview[at];
      const pins =
        kind === 'contacts'
          ? contactId && { expectedContactId: contactId }
          : organizationId && { expectedOrganizationId: organizationId };
      return {
        ...row,
        expectedAnnotation,
        ...pins,
        ...(kind === 'organizations' && { reactivate: choices.reactivate }),
      };
    });
    const { status, body } = await client.post(path, { rows: pinned, mode: choices.mode });
    expect(status).toBe(200);
    const results = new Map<number, { result: string; code: string | null; organizationId: string | null }>();
    for (const [list, result] of Object.entries({
      imported: 'imported',
      updated: 'updated',
      skipped: 'skipped',
      errors: 'failed',
    })) {
      for (const item of body[list]) {
        expect(results.has(item.index)).toBe(false);
        const { index, code, reason, organizationId } = item;
        results.set(index, { result, code: code ?? reason ?? null, organizationId: organizationId ?? null });
      }
    }
    const outcomes = preview.map((row: Record<string, unknown>, index: number) => ({
      index,
      annotation: row['annotation'],
      matchId: kind === 'contacts' ? row['contactId'] : row['organizationId'],
      reason: row['matchedOrganizationLinkedToSystem'] === true ? ALREADY_LINKED : null,
      ...(results.get(index) ?? { result: 'missing', code: null }),
      organizationId: results.get(index)?.organizationId ?? row['organizationId'] ?? null,
    }));
    return { outcomes: outcomes as Outcome[] };
  }

  /**
   * Compares what became of each row with its preview. An update may change the address or name by which a later contact
   * was previewed: that one is then refused and never becomes anything else.
   */
  function expectPromised(kind: ImportKind, outcomes: readonly Outcome[], choices: Choices): void {
    const updated = new Set<string | null>();
    const broken = outcomes.filter((row) => {
      const [result, code] = promisedOf(kind, row, choices);
      const isKept = row.result === result && row.code === code;
      const isOvertaken = kind === 'contacts' && row.result === 'failed' && CHANGED.includes(row.code ?? '');
      if (row.result === 'updated') updated.add(row.organizationId);
      return !isKept && !(isOvertaken && updated.has(row.organizationId));
    });
    expect(broken).toEqual([]);
  }

  /** Compares what was written with the rows that say so. */
  function expectNothingElse(
    kind: ImportKind,
    outcomes: readonly Outcome[],
    before: StoredRow[],
    after: StoredRow[],
  ): void {
    const changed = changedRows(before, after);
    const writing = outcomes.filter(
      ({ result, code }) => result === 'imported' || result === 'updated' || code === 'name_match_confirmed',
    );
    const allowed = new Set(writing.map(({ organizationId }) => organizationId));
    expect(changed.filter(({ orgId }) => !allowed.has(orgId))).toEqual([]);
    const known = new Set(before.map(({ table, id }) => `${table} ${id}`));
    const isNew = ({ table, id }: StoredRow) => !known.has(`${table} ${id}`);
    const tables = changed.map(({ table }) => table);
    const imported = outcomes.filter(({ result }) => result === 'imported');
    if (kind === 'contacts') {
      expect(tables.filter((table) => !table.startsWith('contact'))).toEqual([]);
      const matched = new Set(outcomes.filter(({ result }) => result === 'updated').map(({ matchId }) => matchId));
      const contacts = changed.filter(({ table }) => table === 'contact');
      expect(contacts.filter(isNew)).toHaveLength(imported.length);
      expect(contacts.filter((row) => !isNew(row) && !matched.has(row.id))).toEqual([]);
    } else {
      expect(tables.filter((table) => table.startsWith('contact'))).toEqual([]);
      const created = new Set(imported.map(({ organizationId }) => organizationId));
      const organizations = changed.filter(({ table }) => table === 'organization');
      expect(new Set(organizations.filter(isNew).map(({ id }) => id))).toEqual(created);
    }
    expect(before.filter(({ table, id }) => !after.some((row) => row.table === table && row.id === id))).toEqual([]);
  }

  /**
   * Returns the rows that a second import must find imported. Left out are rows that contradict each other, since several
   * match one contact and change by what it is matched, and rows by which no contact is ever matched.
   */
  function accepted(kind: ImportKind, rows: readonly Row[], outcomes: readonly Outcome[]): Row[] {
    const isDone = ({ result }: Outcome) => result !== 'failed';
    if (kind === 'organizations') return rows.filter((_, at) => isDone(outcomes[at]));
    const countOf = (id: string) => outcomes.filter((each) => each.matchId === id && isDone(each)).length;
    return rows.filter((row, at) => {
      const { matchId } = outcomes[at];
      return isDone(outcomes[at]) && (matchId === null || countOf(matchId) === 1) && isMatchable(row);
    });
  }

  const choicesOf = (seed: number): Choices => ({
    mode: seed % 2 === 0 ? 'update' : 'skip',
    confirmMatches: seed % 3 !== 0,
    reactivate: seed % 4 < 2,
  });
  const generate = (kind: ImportKind, seed: number, { ids }: Partner) =>
    kind === 'contacts' ? contactRows(seed, ids) : organizationRows(seed);

  const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
  const cases = (['organizations', 'contacts'] as const).flatMap((kind) => SEEDS.map((seed) => [kind, seed] as const));

  describe.each([
    ['a file', importFile],
    ['JSON rows', importRows],
  ] as const)('%s', (source, importOf) => {
    it.each(cases)(
      'does to %s what the preview says and nothing else, and nothing twice, seed %i',
      async (kind, seed) => {
        const partner = await freshPartner();
        const rows = generate(kind, seed, partner);
        const choices = { ...choicesOf(seed), ...(source === 'JSON rows' && { confirmMatches: true }) };
        const before = await partner.stored();
        const { outcomes } = await importOf(partner, kind, rows, choices);
        const after = await partner.stored();
        expectPromised(kind, outcomes, choices);
        expectNothingElse(kind, outcomes, before, after);

        const again = accepted(kind, rows, outcomes);
        if (again.length === 0) return;
        const second = await importOf(partner, kind, again, choices);
        expect(second.outcomes.filter(({ result }) => result === 'imported')).toEqual([]);
        expect(changedRows(after, await partner.stored())).toEqual([]);
      },
    );
  });
});
