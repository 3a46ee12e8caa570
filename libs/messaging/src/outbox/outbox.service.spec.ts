import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { OrganizationState } from '@rmm/contracts';
import { TenantDatabase, type TenantContext, type TenantTransaction } from '@rmm/persistence';
import { runInContext } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import {
  startMessagingTestApp,
  storedMessages,
  workerOf,
  type MessagingTestApp,
} from '../../test/messaging-test-app.js';
import { Broadcasts, Outbox, type OutgoingMessage } from '../index.js';

const partnerId = randomUUID();
const orgId = randomUUID();
const actor = { type: 'user' as const, id: randomUUID(), email: 'ann@example.com' };
const tenant: TenantContext = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null };

const organization: OrganizationState = {
  orgId,
  partnerId,
  name: 'Ärzte & "Söhne"',
  slug: 'aerzte',
  status: 'active',
  deleted: false,
  version: 3,
};

function buildMessage(over: object = {}): OutgoingMessage {
  const base = { stream: 'internal', type: 'organization.created', aggregateId: orgId, partnerId, orgId };
  return { ...base, data: organization, ...over } as OutgoingMessage;
}

/** Records the statements of a transaction, and how many of them run at a time. */
function watchStatements(tx: TenantTransaction) {
  const seen = { params: [] as unknown[][], running: 0, most: 0 };
  const query = tx.query.bind(tx);
  jest.spyOn(tx, 'query').mockImplementation((sql, params) => {
    seen.params.push(params as unknown[]);
    seen.most = Math.max(seen.most, (seen.running += 1));
    return query(sql, params).finally(() => (seen.running -= 1));
  });
  return seen;
}

describe('Outbox', () => {
  let testApp: MessagingTestApp;
  let app: INestApplication;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService();
  });
  afterAll(() => testApp.stop(), 30_000);

  const bodies = async (stream: string) => (await storedMessages(testApp.connection, stream)).map(({ body }) => body);
  const isEmpty = async () => {
    const { rows } = await testApp.admin.query(
      'select (select count(*) from outbox) + (select count(*) from outbox_lease) as n',
    );
    expect(rows[0].n).toBe('0');
  };

  it('publishes committed messages with the context of the request and deletes their rows', async () => {
    const id = randomUUID();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await runInContext({ requestId: 'req-1', traceparent }, () =>
      app
        .get(TenantDatabase)
        .transaction({ tenant }, (tx) =>
          app.get(Outbox).publish(tx, buildMessage({ id, aggregateVersion: 3, actor: actor })),
        ),
    );
    await eventually(async () => {
      const stored = await storedMessages(testApp.connection, 'RMM_INTERNAL');
      expect(stored.find((each) => each.id === id)).toEqual({
        id,
        subject: 'rmm.internal.provisioning.organization.created',
        body: {
          id,
          type: 'organization.created',
          schemaVersion: 1,
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          partnerId,
          orgId,
          aggregateId: orgId,
          aggregateVersion: 3,
          actor: actor,
          correlationId: 'req-1',
          traceparent,
          data: organization,
        },
      });
    });
    await eventually(isEmpty);
  });

  it('publishes nothing from a transaction that was rolled back', async () => {
    const [lost, kept] = [randomUUID(), randomUUID()];
    const failing = app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      await app.get(Outbox).publish(tx, buildMessage({ id: lost }));
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    await app
      .get(TenantDatabase)
      .transaction({ tenant }, (tx) => app.get(Outbox).publish(tx, buildMessage({ id: kept })));
    await eventually(async () => expect((await bodies('RMM_INTERNAL')).map(({ id }) => id)).toContain(kept));
    expect((await bodies('RMM_INTERNAL')).map(({ id }) => id)).not.toContain(lost);
  });

  it('writes any number of messages with one statement and maps each stream to its subjects', async () => {
    const statements = await app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      const seen = watchStatements(tx);
      await app.get(Outbox).publish(tx, [
        buildMessage({ stream: 'events', type: 'device.enrolled' }),
        buildMessage({
          stream: 'records',
          type: 'device-software.upsert',
          data: { resource: 'device-software', id: 'd1' },
        }),
        buildMessage({ stream: 'audit', type: 'site.create' }),
      ]);
      return seen.params;
    });
    expect(statements).toHaveLength(1);
    await eventually(isEmpty);
    const subjectsOf = async (stream: string) =>
      (await storedMessages(testApp.connection, stream)).map(({ subject }) => subject);
    expect(await subjectsOf('RMM_EVENTS')).toEqual([`rmm.events.${orgId}.device.enrolled`]);
    expect(await subjectsOf('RMM_RECORDS')).toEqual(['rmm.records.device-software.upsert']);
    expect(await subjectsOf('RMM_AUDIT')).toEqual(['rmm.audit.provisioning']);
  });

  it('writes a long list with several statements in its order, also while the connection is busy', async () => {
    const ids = Array.from({ length: 1_100 }, () => randomUUID());
    const statements = await app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      void tx.query('SELECT pg_sleep(0.2)'); // the statements after it wait in the connection
      const seen = watchStatements(tx);
      await app.get(Outbox).publish(
        tx,
        ids.map((id) => buildMessage({ id })),
      );
      return seen.params;
    });
    const sizes = statements.map(([written]) => (written as string[]).length);
    expect(sizes.length).toBeGreaterThan(4);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(250);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(ids.length);
    await eventually(async () => {
      const own = new Set<unknown>(ids);
      expect((await bodies('RMM_INTERNAL')).map(({ id }) => id).filter((id) => own.has(id))).toEqual(ids);
    });
    await eventually(isEmpty);
  });

  it('writes messages of an asynchronous list in its order, and nothing when it fails', async () => {
    const ids = [randomUUID(), randomUUID()];
    async function* messages(failure?: Error) {
      for (const id of ids) yield await Promise.resolve(buildMessage({ id }));
      if (failure) throw failure;
    }
    const publish = (failure?: Error) =>
      app.get(TenantDatabase).transaction({ tenant }, (tx) => app.get(Outbox).publish(tx, messages(failure)));
    await expect(publish(new Error('broken'))).rejects.toThrow('broken');
    await isEmpty();
    await publish();
    await eventually(async () => {
      const own = new Set<unknown>(ids);
      expect((await bodies('RMM_INTERNAL')).map(({ id }) => id).filter((id) => own.has(id))).toEqual(ids);
    });
  });

  it('bounds what one call has sent ahead: 96 K characters a statement, 16 statements', async () => {
    const { params, most } = await app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      const seen = watchStatements(tx);
      const large = { ...organization, name: 'x'.repeat(50_000) };
      await app.get(Outbox).publish(
        tx,
        Array.from({ length: 80 }, () => buildMessage({ data: large })),
      );
      return seen;
    });
    const lengths = params.map(([, , , payloads]) => (payloads as string).length);
    expect(most).toBeLessThanOrEqual(16);
    expect(most).toBeGreaterThan(1);
    expect(lengths).toHaveLength(40);
    expect(Math.max(...lengths)).toBeLessThan(96 * 1024 + 51_000);
    await eventually(isEmpty);
  });

  it('waits for the statements it has sent when a later message of the list cannot be encoded', async () => {
    const publishing = app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      const seen = watchStatements(tx);
      const last = buildMessage({ type: 'a.>' });
      const messages = [...Array.from({ length: 600 }, () => buildMessage()), last];
      await app
        .get(Outbox)
        .publish(tx, messages)
        .finally(() => expect(seen.running).toBe(0));
    });
    await expect(publishing).rejects.toThrow('not a message type');
    await isEmpty();
  });

  it('reports the first statement that fails, not those sent after it', async () => {
    const publishing = app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      const query = tx.query.bind(tx);
      let statements = 0;
      jest
        .spyOn(tx, 'query')
        .mockImplementation(async (sql, params) =>
          query(++statements === 2 ? 'SELECT 1 / 0' : sql, statements === 2 ? [] : params),
        );
      await app.get(Outbox).publish(
        tx,
        Array.from({ length: 1_500 }, () => buildMessage()),
      );
    });
    await expect(publishing).rejects.toThrow('division by zero');
    await isEmpty();
  });

  it('fails the transaction of a message that can never be published', async () => {
    const publish = (over: object) =>
      app.get(TenantDatabase).transaction({ tenant }, (tx) => app.get(Outbox).publish(tx, buildMessage(over)));
    await expect(publish({ type: 'a.>' })).rejects.toThrow('not a message type');
    await expect(publish({ stream: 'events', orgId: null })).rejects.toThrow('names no organization');
    await expect(publish({ data: { text: 'x'.repeat(262_144) } })).rejects.toThrow('at most 262144');
  });

  it('sends a broadcast to every subscriber after the commit', async () => {
    const received: unknown[] = [];
    const subscription = app.get(Broadcasts).subscribe('access.changed', (envelope) => received.push(envelope.data));
    await workerOf(app).transaction((tx) =>
      app
        .get(Outbox)
        .publish(
          tx,
          buildMessage({ stream: 'broadcast', type: 'access.changed', data: { userIds: ['u1'], reason: 'spec' } }),
        ),
    );
    await eventually(() => expect(received).toEqual([{ userIds: ['u1'], reason: 'spec' }]));
    subscription.unsubscribe();
    await eventually(isEmpty);
  });
});
