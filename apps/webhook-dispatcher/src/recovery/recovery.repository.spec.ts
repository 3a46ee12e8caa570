import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { cursorBefore, type HistoryCursor, RecoveryRepository } from './recovery.repository.js';

const NOON = new Date(Date.now() - 3_600_000);
const AHEAD = new Date(Date.now() + 600_000);

describe('RecoveryRepository', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let tenants: TenantDatabase;
  let worker: WorkerDatabase;
  let repository: RecoveryRepository;
  let mine: Organization;
  let webhookId: string;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open({ logins: true });
    app = await cluster.start();
    tenants = app.get(TenantDatabase, { strict: false });
    worker = app.get(WorkerDatabase);
    repository = new RecoveryRepository(worker);
  });

  beforeEach(async () => {
    mine = await cluster.organization();
    ({ id: webhookId } = await createWebhook(app, mine, 'http://127.0.0.1:9/hook'));
  });
  afterAll(() => cluster.close(), 30_000);

  /** Inserts failed deliveries with their texts, a second apart from `NOON`. */
  const fail = (...events: string[]) =>
    cluster.rows(
      `with added as (
         insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, max_attempts, status)
         select gen_random_uuid(), $4::timestamptz + n * interval '1 s', $1, $2, $3, 'device.online', event, 6, 'failed'
         from unnest($5::text[]) with ordinality as e(event, n) returning *
       )
       insert into event_body (event_id, created_at, partner_id, org_id, body)
       select event_id, created_at, partner_id, org_id, '{}' from added`,
      [mine.partnerId, mine.orgId, webhookId, NOON, events],
    );
  const count = (after: HistoryCursor, limits: { readLimit?: number; countLimit?: number } = {}) =>
    tenants.transaction(organizationCaller(mine), (tx) =>
      repository.countFailed(tx, { webhookId, until: AHEAD, after, readLimit: 100, countLimit: 100, ...limits }),
    );
  const insert = (until: HistoryCursor, id = randomUUID()) =>
    tenants.transaction(organizationCaller(mine), (tx) =>
      repository.insert(tx, { id, webhookId, after: cursorBefore(NOON), until }),
    );

  it('counts each event once and says where to continue', async () => {
    await fail('a', 'a', 'b', 'c');
    const first = await count(cursorBefore(NOON), { readLimit: 3 });
    expect(first.accepted).toBe(2);
    const second = await count(first.next as HistoryCursor, { readLimit: 3 });
    expect([second.accepted, second.next]).toEqual([1, null]);
    expect(await count(second.last as HistoryCursor)).toEqual({ accepted: 0, last: null, next: null });
  });

  it('ends at the limit with the position of the last event counted', async () => {
    await fail('a', 'b', 'c');
    const { accepted, last } = await count(cursorBefore(NOON), { countLimit: 2 });
    expect(accepted).toBe(2);
    expect((await count(last as HistoryCursor)).accepted).toBe(1);
  });

  it('leaves out what an accepted recovery has yet to send', async () => {
    await fail('a', 'b', 'c');
    const { last } = await count(cursorBefore(NOON), { countLimit: 2 });
    expect(await insert(last as HistoryCursor)).toBe(true);
    expect((await count(cursorBefore(NOON))).accepted).toBe(1);
  });

  it('accepts nothing for a webhook that is paused or deleted', async () => {
    await fail('a');
    const { last } = await count(cursorBefore(NOON));
    await cluster.rows(`update webhook set status = 'disabled' where id = $1`, [webhookId]);
    expect(await insert(last as HistoryCursor)).toBe(false);
    await cluster.rows('delete from webhook where id = $1', [webhookId]);
    expect(await insert(last as HistoryCursor)).toBe(false);
  });

  it('locks a recovery for one transaction at a time', async () => {
    await fail('a');
    const id = randomUUID();
    await insert((await count(cursorBefore(NOON))).last as HistoryCursor, id);
    await worker.transaction(async (tx) => {
      expect(await repository.lock(tx, id)).toMatchObject({ id, webhookId, orgId: mine.orgId, status: 'active' });
      const { rows } = await cluster.admin.query(
        'select 1 from webhook_recovery where id = $1 for update skip locked',
        [id],
      );
      expect(rows).toEqual([]);
      await repository.delete(tx, id);
    });
    expect(await worker.transaction((tx) => repository.lock(tx, id))).toBeNull();
  });

  it('moves the position with each chunk and deletes the recovery with the last one', async () => {
    await fail('a', 'b', 'c');
    const id = randomUUID();
    await insert((await count(cursorBefore(NOON))).last as HistoryCursor, id);
    const next = () =>
      worker.transaction(async (tx) => {
        const recovery = await repository.lock(tx, id);
        return recovery && repository.repeatChunk(tx, recovery, { maxAttempts: 6, readLimit: 2 });
      });
    expect(await repository.listPending()).toContain(id);
    expect([await next(), await next(), await next()]).toEqual([
      { accepted: 2, isLeft: true },
      { accepted: 1, isLeft: false },
      null,
    ]);
    expect(await repository.listPending()).not.toContain(id);
    const rows = await cluster.rows<{ event: string }>(
      'select event_id as event from delivery where webhook_id = $1 and repeat_of is not null order by due_at',
      [webhookId],
    );
    expect(rows.map(({ event }) => event)).toEqual(['a', 'b', 'c']);
  });

  it('rolls back what a chunk inserted together with its position', async () => {
    await fail('a');
    const id = randomUUID();
    await insert((await count(cursorBefore(NOON))).last as HistoryCursor, id);
    const failing = worker.transaction(async (tx) => {
      const recovery = await repository.lock(tx, id);
      if (recovery) await repository.repeatChunk(tx, recovery, { maxAttempts: 6, readLimit: 2 });
      throw new Error('killed');
    });
    await expect(failing).rejects.toThrow('killed');
    expect(await repository.listPending()).toContain(id);
    expect(
      await cluster.rows('select 1 from delivery where repeat_of is not null and webhook_id = $1', [webhookId]),
    ).toEqual([]);
  });
});
