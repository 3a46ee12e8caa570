import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import { auditRow, minuteOf } from '../../test/audit-rows.js';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { EMPTY_CHAIN, sealRows } from './audit-chain.js';
import { AuditEntriesRepository } from './audit-entries.repository.js';

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

describe('AuditEntriesRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let chains: AuditEntriesRepository;
  let worker: WorkerDatabase;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    chains = identity.app.get(AuditEntriesRepository);
    worker = identity.app.get(WorkerDatabase);
  }, 120_000);
  afterAll(() => testApp.stop());

  /** Seals entries of the first minutes and stores them with the new head of their chain. */
  const store = async (partnerId: string, minutes: number, details?: Record<string, unknown>) => {
    const rows = Array.from({ length: minutes }, (_, minute) => ({
      ...auditRow(partnerId, minute),
      ...(details && { details }),
    }));
    const { sealed, head } = sealRows(EMPTY_CHAIN, rows);
    await worker.transaction(async (tx) => {
      await chains.lockHeads(tx, [partnerId]);
      await chains.insert(tx, sealed);
      await chains.updateHeads(tx, new Map([[partnerId, head]]));
    });
    return { sealed, head };
  };

  /** Expects so many transactions of this spec to wait for a lock. */
  const expectWaiting = async (count: number) => {
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    expect(await testApp.query(waiting)).toHaveLength(count);
  };

  it('creates the head of a new chain, and returns the stored one afterwards', async () => {
    const partnerId = randomUUID();
    const lock = () => worker.transaction((tx) => chains.lockHeads(tx, [partnerId, partnerId]));
    expect(await lock()).toEqual(new Map([[partnerId, EMPTY_CHAIN]]));
    const { head } = await store(partnerId, 2);
    expect(await lock()).toEqual(new Map([[partnerId, head]]));
  });

  it.each([
    ['new', false],
    ['stored', true],
  ])('locks %s heads in one order, so that batches with the same chains cannot deadlock', async (_, isStored) => {
    const [low, high] = [randomUUID(), randomUUID()].sort();
    const lock = (chain: string[], work?: () => Promise<void>) =>
      worker.transaction(async (tx) => {
        await chains.lockHeads(tx, chain);
        await work?.();
      });
    if (isStored) for (const chain of [high, low]) await lock([chain]);
    let release = () => undefined as void;
    const finished = new Promise<void>((resolve) => (release = resolve));
    let begin = () => undefined as void;
    const started = new Promise<void>((resolve) => (begin = resolve));
    const locksHigh = lock([high], () => {
      begin();
      return finished;
    });
    await started;
    const locksLowThenWaits = lock([high, low]);
    await eventually(() => expectWaiting(1));
    const waitsForLow = lock([low]);
    await eventually(() => expectWaiting(2));
    release();
    await Promise.all([locksHigh, locksLowThenWaits, waitsForLow]);
  });

  it('lists the stored among given entries by id and time', async () => {
    const partnerId = randomUUID();
    const { sealed } = await store(partnerId, 2);
    const [first, second] = sealed;
    const asked = [first, { ...second, timestamp: minuteOf(50) }, auditRow(partnerId, 9)];
    const existing = await worker.transaction((tx) => chains.listExistingIds(tx, asked));
    expect(existing).toEqual(new Set([first.id]));
  });

  it('returns the ends of a chain, and of the part that a range of time covers', async () => {
    const partnerId = randomUUID();
    const { head } = await store(partnerId, 5);
    const all = await chains.findEnds(worker, partnerId, {});
    expect(all).toMatchObject({ head, first: 1, last: 5, latest: 5 });
    const range = { from: new Date(minuteOf(1)), to: new Date(minuteOf(3)) };
    expect(await chains.findEnds(worker, partnerId, range)).toMatchObject({ first: 2, last: 3, latest: 5 });
    const nothing = { head: null, first: null, last: null, latest: null };
    expect(await chains.findEnds(worker, randomUUID(), {})).toEqual(nothing);
  });

  it('lists entries as they were sealed, from a position up to another, of one chain only', async () => {
    const partnerId = randomUUID();
    const { sealed } = await store(partnerId, 4);
    await store(randomUUID(), 4);
    const list = (sequence: number, id: string, upTo: number, limit = 10) =>
      chains.listChain(worker, partnerId, { sequence, id }, upTo, limit);
    expect(await list(1, BEFORE_ALL, 4)).toEqual(sealed);
    const ids = async (rows: ReturnType<typeof list>) => (await rows).map(({ sequence }) => sequence);
    expect(await ids(list(2, sealed[1].id, 3))).toEqual([3]);
    expect(await ids(list(1, BEFORE_ALL, 4, 2))).toEqual([1, 2]);
  });

  it('ends a page of the largest entries at about 1 MB and goes on after its last one', async () => {
    const partnerId = randomUUID();
    await store(partnerId, 40, { text: 'x'.repeat(39_000) });
    const tenant = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null };
    const caller = { tenant, siteIds: null, deviceGroupIds: null } as unknown as UserCaller;
    const binding = { caller, list: 'audit-log', filters: {} };
    const seen = new Set<string>();
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Awaited<ReturnType<AuditEntriesRepository['search']>> = await chains.search(caller, {}, binding, {
        ...{ direction: 'desc', limit: 100, cursor },
      });
      expect(Buffer.byteLength(JSON.stringify(page.rows))).toBeLessThan(1_150_000);
      for (const { id } of page.rows) seen.add(id);
      cursor = page.nextCursor;
    }
    expect(seen.size).toBe(40);
  });
});
