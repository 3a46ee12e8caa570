import pg from 'pg';
import type { AuditTrail, Outbox } from '@rmm/messaging';
import type { TenantTransaction } from '@rmm/persistence';
import { ConflictError, type Logger } from '@rmm/service-kit';
import type { ImportJournalService } from '../import-runs/journal/import-journal.service.js';
import type { GroupWrites, SitePatch } from './import-changes.js';
import type { GroupDecision } from './import-decision.policy.js';
import type { PlannedGroup } from './import-plan.policy.js';
import { ImportWriterService } from './import-writer.service.js';
import type { ImportScope } from './import.events.js';
import type { ImportRepository } from './import.repository.js';

const SCOPE = {
  partnerId: 'p-1',
  connectionId: null,
  runId: 'r-1',
  caller: { actor: { type: 'user', id: 'u-1' } },
} as unknown as ImportScope;
const NOTHING_WRITTEN = {
  organizations: [],
  reactivated: [],
  newSites: [],
  patchedSites: [],
  links: [],
  movedLinks: [],
};

describe('ImportWriterService', () => {
  let attempts: string[][];
  let published: number;
  let failures: Map<string, Error>;
  let linkedId: string | null;
  let repository: ImportRepository;
  let writer: ImportWriterService;

  const tx = {
    savepoint: (work: () => Promise<unknown>) => work(),
    query: () => Promise.resolve([]),
  } as unknown as TenantTransaction;
  const namesOf = (writes: readonly GroupWrites[]) => writes.map(({ organizations }) => organizations[0]?.name ?? '');

  beforeEach(() => {
    [attempts, published, failures, linkedId] = [[], 0, new Map(), null];
    repository = {
      write: async (_: unknown, __: string, writes: GroupWrites[]) => {
        const names = namesOf(writes);
        attempts.push(names);
        const failure = names.map((name) => failures.get(name)).find((error) => error !== undefined);
        if (failure) throw failure;
        return NOTHING_WRITTEN;
      },
      findLinkedId: () => Promise.resolve(linkedId),
    } as unknown as ImportRepository;
    const journal = { record: () => Promise.resolve() } as unknown as ImportJournalService;
    const outbox = {
      publish: async (_: unknown, messages: AsyncIterable<unknown>) => {
        for await (const message of messages) expect(message).toBeDefined();
        published += 1;
      },
    } as unknown as Outbox;
    const audit = { toMessages: () => [] } as unknown as AuditTrail;
    const logger = { debug: () => undefined, error: () => undefined } as unknown as Logger;
    writer = new ImportWriterService(repository, journal, outbox, audit, logger);
  });

  function decisionOf(name: string, index = 0): GroupDecision {
    const link = { system: 'csv', externalId: name };
    const group = { rows: [{ index, organization: name }], name, link } as unknown as PlannedGroup;
    const writes = { organizations: [{ name }], sitePatches: [] } as unknown as GroupWrites;
    return { group, writes, imported: [], updated: [], skipped: [], errors: [] };
  }
  const uniqueViolation = () =>
    Object.assign(new pg.DatabaseError('duplicate key', 0, 'error'), {
      code: '23505',
      constraint: 'external_link_key',
    });

  it('writes all groups and their messages at once', async () => {
    const decisions = ['a', 'b', 'c'].map(decisionOf);
    expect(await writer.apply(tx, SCOPE, decisions)).toEqual(decisions);
    expect(attempts).toEqual([['a', 'b', 'c']]);
    expect(published).toBe(1);
  });

  it('writes nothing when no decision has writes', async () => {
    const decisions = [{ ...decisionOf('a'), writes: null }];
    expect(await writer.apply(tx, SCOPE, decisions)).toEqual(decisions);
    expect(attempts).toEqual([]);
  });

  it('halves the groups until the one that cannot be written is alone, and writes the others', async () => {
    failures.set('c', new Error('broken'));
    const names = ['a', 'b', 'c', 'd'];
    const result = await writer.apply(tx, SCOPE, names.map(decisionOf));
    expect(attempts).toEqual([names, ['a', 'b'], ['c', 'd'], ['c'], ['d']]);
    expect(result.map(({ group }) => group.name)).toEqual(names);
    expect(result.flatMap(({ errors }) => errors)).toEqual([
      { index: 2, organization: 'c', code: 'write-failed', error: 'The row could not be written' },
    ]);
    expect(published).toBe(2);
  });

  it('writes many groups in parts, and publishes the messages of all together', async () => {
    const names = Array.from({ length: 600 }, (_, i) => String(i));
    await writer.apply(tx, SCOPE, names.map(decisionOf));
    expect(attempts).toEqual([names.slice(0, 400), names.slice(400)]);
    expect(published).toBe(1);
  });

  it('writes all groups together when several patch one site', async () => {
    const names = Array.from({ length: 600 }, (_, i) => String(i));
    const decisions = names.map(decisionOf);
    for (const at of [3, 590]) decisions[at]?.writes?.sitePatches.push({ id: 's-1' } as SitePatch);
    await writer.apply(tx, SCOPE, decisions);
    expect(attempts).toEqual([names]);
  });

  it('waits for all parts before it ends the savepoint, and reports the failure of the part', async () => {
    const open = new Set<string>();
    const unfinished: number[] = [];
    const parts = jest.spyOn(repository, 'write').mockImplementation(async (_, __, writes) => {
      const [name = ''] = namesOf(writes);
      open.add(name);
      if (name === '800') await new Promise((resolve) => setTimeout(resolve, 20));
      open.delete(name);
      if (name === '400') throw new ConflictError();
      return NOTHING_WRITTEN;
    });
    const savepoint = async (work: () => Promise<unknown>) => work().finally(() => unfinished.push(open.size));
    const names = Array.from({ length: 1_000 }, (_, i) => String(i));
    const applied = writer.apply({ ...tx, savepoint } as TenantTransaction, SCOPE, names.map(decisionOf));
    await expect(applied).rejects.toBeInstanceOf(ConflictError);
    expect(parts).toHaveBeenCalledTimes(3);
    expect(unfinished).toEqual([0]);
    expect(published).toBe(0);
  });

  it('needs about twenty-five writes for one bad group of a thousand', async () => {
    failures.set('617', new Error('broken'));
    const names = Array.from({ length: 1_000 }, (_, i) => String(i));
    const result = await writer.apply(tx, SCOPE, names.map(decisionOf));
    expect(attempts.length).toBeLessThanOrEqual(25);
    expect(result.flatMap(({ errors }) => errors)).toMatchObject([{ index: 617 }]);
  });

  it('skips a group whose link was stored concurrently', async () => {
    failures.set('a', uniqueViolation());
    linkedId = 'o-1';
    const [{ skipped, errors }] = await writer.apply(tx, SCOPE, [decisionOf('a')]);
    expect(errors).toEqual([]);
    expect(skipped).toEqual([
      { index: 0, organization: 'a', organizationId: 'o-1', reason: 'created_concurrently', createdLink: false },
    ]);
  });

  it('reports a conflict when the link belongs to an organization that is not visible', async () => {
    failures.set('a', uniqueViolation());
    const [{ errors }] = await writer.apply(tx, SCOPE, [decisionOf('a')]);
    expect(errors).toMatchObject([{ index: 0, code: 'external-id-conflict' }]);
  });

  it('rejects with errors that concern the whole import', async () => {
    failures.set('b', new ConflictError());
    await expect(writer.apply(tx, SCOPE, ['a', 'b'].map(decisionOf))).rejects.toBeInstanceOf(ConflictError);
    expect(attempts).toHaveLength(1);
  });
});
