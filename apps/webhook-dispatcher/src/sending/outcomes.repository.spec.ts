import { randomUUID } from 'node:crypto';
import { DispatcherTestDatabase } from '../../test/dispatcher-test-database.js';
import type { Organization } from '../../test/organizations.js';
import { partitionOf } from '../replicas/partition-of.js';
import { arrayText, bytesOf, OutcomesRepository, plainArrayText, textArrayBytes } from './outcomes.repository.js';
import {
  createInactiveOutcome,
  createPendingOutcome,
  createOutcome,
  type EventInProgress,
  type Outcome,
  type QueuedDelivery,
} from './queued-delivery.js';

const EPOCH = 5;

describe('OutcomesRepository', () => {
  let database: DispatcherTestDatabase;
  let repository: OutcomesRepository;
  let organization: Organization;
  let webhookId: string;

  beforeAll(async () => {
    database = await DispatcherTestDatabase.start();
    repository = new OutcomesRepository(database.worker);
    await database.rows('UPDATE delivery_partition SET epoch = $1', [EPOCH]);
  }, 120_000);
  beforeEach(async () => {
    organization = await database.organization();
    webhookId = await database.webhook(organization);
  });
  afterAll(() => database?.stop());

  const nothing = () => undefined;
  const buildEvent = (text = '{"a":1}', body = Buffer.from(text)): EventInProgress => ({
    ...{ eventId: randomUUID(), eventType: 'device.online', createdAt: new Date(), ...organization, body },
    ...{ eventOrgId: null, isBodyStored: false, onStored: nothing, onRefused: nothing, onFailed: nothing },
  });
  const buildDelivery = (changes: Partial<QueuedDelivery> = {}, event = buildEvent()): QueuedDelivery => ({
    ...{ id: randomUUID(), webhookId, ...organization, partition: partitionOf(organization.orgId) },
    ...{ createdAt: event.createdAt, eventId: event.eventId, eventType: event.eventType, body: event.body, event },
    ...{ maxAttempts: 6, attempt: 0, isStored: false, hasOutcome: false, state: 'table' },
    ...changes,
  });
  const buildOutcome = (
    delivery: QueuedDelivery,
    status: Outcome['status'],
    changes: Partial<Outcome> = {},
  ): Outcome => ({
    ...createOutcome(delivery, status, Date.now()),
    responseTimeMs: 12.6,
    ...changes,
  });
  const write = (outcomes: readonly Outcome[], epoch = EPOCH) => repository.write(outcomes, () => epoch);
  const rowOf = async ({ id }: QueuedDelivery) => {
    const [row] = await database.rows('SELECT status, attempt, revision FROM delivery WHERE id = $1', [id]);
    return row;
  };
  const counts = async (id = webhookId) => {
    const [row] = await database.rows<Record<string, unknown>>(
      `SELECT total::int, delivered::int, failed::int, retrying::int, failing_since IS NOT NULL AS failing
         FROM webhook_counter WHERE webhook_id = $1`,
      [id],
    );
    return row;
  };
  const countOf = async (table: 'attempt' | 'dead_letter', { id }: QueuedDelivery) =>
    (await database.rows(`SELECT FROM ${table} WHERE delivery_id = $1`, [id])).length;

  it('inserts deliveries with their final state, and the text of their event once', async () => {
    const event = buildEvent('{"text":"ü \\" \\\\ , {} NULL"}');
    const [delivered, failed] = [buildDelivery({}, event), buildDelivery({}, event)];
    const result = await write([buildOutcome(delivered, 'delivered'), buildOutcome(failed, 'failed')]);
    expect(result).toEqual({ written: null, lost: [] });
    expect(await rowOf(delivered)).toEqual({ status: 'delivered', attempt: 1, revision: 0 });
    expect(await counts()).toEqual({ total: 2, delivered: 1, failed: 1, retrying: 0, failing: false });
    const bodies = await database.rows('SELECT body FROM event_body WHERE event_id = $1', [event.eventId]);
    expect([bodies, event.isBodyStored]).toEqual([[{ body: event.body.toString() }], true]);
    expect([await countOf('dead_letter', failed), await countOf('dead_letter', delivered)]).toEqual([1, 0]);
  });

  it('updates an open delivery from attempt to attempt, and keeps the counters in step', async () => {
    const first = buildDelivery();
    await write([createPendingOutcome(first)]);
    expect(await counts()).toMatchObject({ total: 1, retrying: 0, failing: false });
    await write([buildOutcome(first, 'retrying', { delayMs: 60_000, errorMessage: 'refused' })]);
    expect(await counts()).toMatchObject({ total: 1, retrying: 1, failing: true });
    const second = { ...first, attempt: 1 };
    await write([buildOutcome(second, 'retrying')]);
    expect(await counts()).toMatchObject({ total: 1, retrying: 1 });
    await write([buildOutcome({ ...first, attempt: 2 }, 'delivered')]);
    expect(await counts()).toEqual({ total: 1, delivered: 1, failed: 0, retrying: 0, failing: false });
    expect(await rowOf(first)).toEqual({ status: 'delivered', attempt: 3, revision: 3 });
    expect(await countOf('attempt', first)).toBe(2);
  });

  it('writes an outcome once, from the attempts that it was made from', async () => {
    const delivery = buildDelivery();
    await write([createPendingOutcome(delivery)]);
    const outcome = buildOutcome(delivery, 'retrying');
    await write([outcome]);
    expect((await write([outcome])).written).toEqual(new Set());
    expect((await write([buildOutcome({ ...delivery, attempt: 4 }, 'delivered')])).written).toEqual(new Set());
    expect(await rowOf(delivery)).toEqual({ status: 'retrying', attempt: 1, revision: 1 });
    expect(await counts()).toMatchObject({ total: 1, retrying: 1, delivered: 0 });
  });

  it('counts concurrent outcomes of one delivery once', async () => {
    const delivery = buildDelivery();
    await write([createPendingOutcome(delivery)]);
    const states = ['delivered', 'failed', 'retrying'] as const;
    const results = await Promise.all(states.map((status) => write([buildOutcome(delivery, status)])));
    expect(results.filter(({ written }) => written === null)).toHaveLength(1);
    const { total, delivered, failed, retrying } = (await counts()) as Record<string, number>;
    expect([total, (delivered ?? 0) + (failed ?? 0) + (retrying ?? 0)]).toEqual([1, 1]);
  });

  it('leaves a delivery that has ended', async () => {
    const delivery = buildDelivery();
    await write([buildOutcome(delivery, 'delivered')]);
    const again = await write([buildOutcome({ ...delivery, attempt: 1 }, 'failed')]);
    expect(again.written).toEqual(new Set());
    expect(await rowOf(delivery)).toMatchObject({ status: 'delivered' });
  });

  it('fails an open delivery of an inactive webhook without an attempt or a dead letter', async () => {
    const delivery = buildDelivery();
    await write([createPendingOutcome(delivery)]);
    await write([createInactiveOutcome(delivery)]);
    expect(await rowOf(delivery)).toMatchObject({ status: 'failed', attempt: 0 });
    expect([await countOf('dead_letter', delivery), await countOf('attempt', delivery)]).toEqual([0, 0]);
    expect(await counts()).toMatchObject({ failed: 1, failing: false });
  });

  it('keeps the longest pause that a receiver asked for, and stores none for others', async () => {
    const other = await database.webhook(organization);
    const pauseOf = async (id: string) => {
      const [row] = await database.rows<{ seconds: number | null }>(
        'SELECT round(extract(epoch FROM paused_until - now()))::int AS seconds FROM webhook_counter WHERE webhook_id = $1',
        [id],
      );
      return row.seconds;
    };
    const asked = (pauseMs: number) => buildOutcome(buildDelivery(), 'retrying', { pauseMs });
    await write([
      asked(1_000),
      asked(3_000_000),
      asked(0),
      buildOutcome(buildDelivery({ webhookId: other }), 'delivered'),
    ]);
    await write([asked(1_000)]);
    await write([buildOutcome(buildDelivery(), 'delivered')]);
    const seconds = await pauseOf(webhookId);
    expect(seconds).toBeGreaterThan(2_900);
    expect(seconds).toBeLessThanOrEqual(3_000);
    expect(await pauseOf(other)).toBeNull();
  });

  it('skips deliveries of a deleted webhook and writes the others', async () => {
    const kept = buildDelivery();
    const gone = buildDelivery({ webhookId: randomUUID() });
    const { written, lost } = await write([buildOutcome(gone, 'delivered'), buildOutcome(kept, 'delivered')]);
    expect([written, lost]).toEqual([new Set([kept.id]), []]);
    expect(await rowOf(gone)).toBeUndefined();
  });

  describe('of a partition that another replica owns', () => {
    const writeLate = (outcome: Outcome) => write([outcome], EPOCH - 1);

    it('refuses what the owner may send again, and names the partition', async () => {
      const delivery = buildDelivery();
      const lost = [delivery.partition];
      for (const outcome of [createPendingOutcome(delivery), buildOutcome(delivery, 'failed')]) {
        expect(await writeLate(outcome)).toEqual({ written: new Set(), lost });
      }
      expect(await rowOf(delivery)).toBeUndefined();
    });

    it('accepts what was delivered', async () => {
      const delivery = buildDelivery();
      expect(await writeLate(buildOutcome(delivery, 'delivered'))).toEqual({
        written: null,
        lost: [delivery.partition],
      });
      expect(await rowOf(delivery)).toMatchObject({ status: 'delivered' });
    });

    it('accepts the outcome of a row that the owner leaves alone while it is reserved', async () => {
      const delivery = buildDelivery();
      await write([createPendingOutcome(delivery)]);
      expect((await writeLate(buildOutcome(delivery, 'retrying'))).written).toEqual(new Set());
      await repository.reserve([delivery], 60_000);
      expect((await writeLate(buildOutcome(delivery, 'retrying'))).written).toBeNull();
    });
  });

  it('reserves open deliveries only', async () => {
    const [open, ended] = [buildDelivery(), buildDelivery()];
    await write([createPendingOutcome(open), buildOutcome(ended, 'delivered')]);
    await repository.reserve([open, ended], 3_600_000);
    const later = await database.rows<{ id: string }>(
      `SELECT id FROM delivery WHERE webhook_id = $1 AND due_at > now() + INTERVAL '50 minutes'`,
      [webhookId],
    );
    expect(later.map(({ id }) => id)).toEqual([open.id]);
  });

  it('counts the text of an event until it is stored', () => {
    const delivery = buildDelivery({}, buildEvent('x'.repeat(1_000)));
    expect(bytesOf(buildOutcome(delivery, 'delivered', { responseBody: 'y'.repeat(10) }))).toBe(1_510);
    if (delivery.event) delivery.event.isBodyStored = true;
    expect(bytesOf(buildOutcome(delivery, 'delivered'))).toBe(500);
  });

  describe('arrays as text', () => {
    const read = async (type: string, text: string | Buffer) => {
      const [row] = await database.worker.query<{ value: unknown }>(`SELECT $1::${type}[] AS value`, [text]);
      return row.value;
    };

    it('are read by PostgreSQL as they were, with every special character', async () => {
      const texts = [
        '',
        'NULL',
        null,
        'a,b',
        '{x}',
        'say "hi"',
        'back\\slash\\"',
        'line\nand\ttab',
        ' höst 😀 ',
        "it's",
      ];
      expect(
        await read(
          'text',
          arrayText(texts, (text) => text),
        ),
      ).toEqual(texts);
      expect(await read('text', arrayText([], String))).toEqual([]);
    });

    it.each([[[]], [['']], [['{"a":"é 😀"}', 'NULL', 'back\\slash"']]])(
      'keeps %j in the binary format',
      async (texts) => {
        expect(await read('text', textArrayBytes(texts.map((text) => Buffer.from(text))))).toEqual(texts);
      },
    );

    it('contain numbers, times and identifiers without quotes', async () => {
      expect(
        await read(
          'int',
          plainArrayText([1, null, -3], (n) => n),
        ),
      ).toEqual([1, null, -3]);
      expect(
        await read(
          'float8',
          plainArrayText([0.5, 1e21], (n) => n),
        ),
      ).toEqual([0.5, 1e21]);
      const at = '2026-03-01T12:00:00.123Z';
      expect(
        await read(
          'timestamptz',
          plainArrayText([at], (text) => text),
        ),
      ).toEqual([new Date(at)]);
    });
  });
});
