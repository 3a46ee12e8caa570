import { currentContext, runInContext } from '@rmm/service-kit';
import { TenantDatabase, type TenantContext } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { startFixture, storedMessages, workerOf, type Fixture } from '../../test/messaging-fixture.js';
import { AuditTrail, Broadcasts, Outbox, type OutgoingMessage } from '../index.js';

const partnerId = randomUUID();
const orgId = randomUUID();
const tenant: TenantContext = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: null };
const caller = { tenant, actor: { type: 'user' as const, id: randomUUID(), email: 'ann@example.com' } };

function message(over: Partial<OutgoingMessage> = {}): OutgoingMessage {
  const data = { orgId, name: 'Ärzte & "Söhne"' };
  return { stream: 'internal', type: 'organization.created', aggregateId: orgId, partnerId, orgId, data, ...over };
}

describe('Outbox', () => {
  let fixture: Fixture;
  let app: INestApplication;

  beforeAll(async () => {
    fixture = await startFixture();
    app = await fixture.service();
  }, 60_000);
  afterAll(() => fixture.stop(), 30_000);

  const bodies = async (stream: string) => (await storedMessages(fixture.connection, stream)).map(({ body }) => body);
  const isEmpty = async () => {
    const { rows } = await fixture.admin.query(
      'select (select count(*) from outbox) + (select count(*) from outbox_lease) as n',
    );
    expect(rows[0].n).toBe('0');
  };

  it('publishes what a tenant transaction committed, with the context of the request, and keeps nothing', async () => {
    const id = randomUUID();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await runInContext({ requestId: 'req-1', traceparent }, () =>
      app
        .get(TenantDatabase)
        .transaction({ tenant }, (tx) =>
          app.get(Outbox).add(tx, message({ id, aggregateVersion: 3, actor: caller.actor })),
        ),
    );
    await eventually(async () => {
      const stored = await storedMessages(fixture.connection, 'RMM_INTERNAL');
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
          actor: caller.actor,
          correlationId: 'req-1',
          traceparent,
          data: { orgId, name: 'Ärzte & "Söhne"' },
        },
      });
    });
    await eventually(isEmpty);
  });

  it('publishes nothing of a transaction that was rolled back', async () => {
    const [lost, kept] = [randomUUID(), randomUUID()];
    const failing = app.get(TenantDatabase).transaction({ tenant }, async (tx) => {
      await app.get(Outbox).add(tx, message({ id: lost }));
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    await app.get(TenantDatabase).transaction({ tenant }, (tx) => app.get(Outbox).add(tx, message({ id: kept })));
    await eventually(async () => expect((await bodies('RMM_INTERNAL')).map(({ id }) => id)).toContain(kept));
    expect((await bodies('RMM_INTERNAL')).map(({ id }) => id)).not.toContain(lost);
  });

  it('adds any number of messages in one statement and puts each stream on its subjects', async () => {
    const statements: string[] = [];
    await app.get(TenantDatabase).transaction({ tenant }, (tx) => {
      const query = tx.query.bind(tx);
      jest.spyOn(tx, 'query').mockImplementation((sql, params) => (statements.push(sql), query(sql, params)));
      return app.get(Outbox).add(tx, [
        message({ stream: 'events', type: 'device.enrolled' }),
        message({
          stream: 'records',
          type: 'device-software.upsert',
          data: { resource: 'device-software', id: 'd1' },
        }),
        message({ stream: 'audit', type: 'site.create' }),
      ]);
    });
    expect(statements).toHaveLength(1);
    await eventually(isEmpty);
    const subjectsOf = async (stream: string) =>
      (await storedMessages(fixture.connection, stream)).map(({ subject }) => subject);
    expect(await subjectsOf('RMM_EVENTS')).toEqual([`rmm.events.${orgId}.device.enrolled`]);
    expect(await subjectsOf('RMM_RECORDS')).toEqual(['rmm.records.device-software.upsert']);
    expect(await subjectsOf('RMM_AUDIT')).toEqual(['rmm.audit.provisioning']);
  });

  it('refuses a message that could never be published, so that its transaction fails', async () => {
    const add = (over: Partial<OutgoingMessage>) =>
      app.get(TenantDatabase).transaction({ tenant }, (tx) => app.get(Outbox).add(tx, message(over)));
    await expect(add({ type: 'a.>' })).rejects.toThrow('not a message type');
    await expect(add({ stream: 'events', orgId: null })).rejects.toThrow('names no organization');
    await expect(add({ data: { text: 'x'.repeat(262_144) } })).rejects.toThrow('at most 262144');
  });

  it('sends a broadcast after the commit to everybody who listens', async () => {
    const heard: unknown[] = [];
    const subscription = app.get(Broadcasts).subscribe('access.changed', (envelope) => heard.push(envelope.data));
    await workerOf(app).transaction((tx) =>
      app.get(Outbox).add(tx, message({ stream: 'broadcast', type: 'access.changed', data: { userIds: ['u1'] } })),
    );
    await eventually(() => expect(heard).toEqual([{ userIds: ['u1'] }]));
    subscription.unsubscribe();
    await eventually(isEmpty);
  });

  it('writes an audit row in the transaction, without secrets, and notes it in the request', async () => {
    const context = { requestId: 'req-2', ipAddress: '203.0.113.9', userAgent: 'spec' };
    await runInContext(context, async () => {
      await app
        .get(TenantDatabase)
        .transaction({ tenant }, (tx) =>
          app
            .get(AuditTrail)
            .add(
              tx,
              caller,
              'api_key.create',
              { type: 'api_key', id: 'k1', name: 'CI', orgId },
              { newPassword: 'hunter2', scopes: ['devices:read'] },
            ),
        );
      expect(currentContext()?.audited).toBe(true);
    });
    await app.get(AuditTrail).addDirect(caller, 'site.delete', { type: 'site' }, {}, 'denied', 'Permission denied');
    await eventually(async () => {
      const rows = (await bodies('RMM_AUDIT')).slice(-2);
      expect(rows.map((row) => [row.type, row.partnerId, row.orgId])).toEqual([
        ['api_key.create', partnerId, orgId],
        ['site.delete', partnerId, null],
      ]);
      expect(rows[0].data).toMatchObject({
        actor: caller.actor,
        resourceId: 'k1',
        details: { newPassword: '[removed]', scopes: ['devices:read'] },
        ipAddress: '203.0.113.9',
        result: 'success',
        requestId: 'req-2',
      });
      expect(rows[1].data).toMatchObject({ result: 'denied', errorMessage: 'Permission denied' });
    });
  });
});
