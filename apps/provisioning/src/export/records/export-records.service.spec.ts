import { connect, headers, type NatsConnection } from 'nats';
import { randomUUID } from 'node:crypto';
import { natsOptions } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

describe('ExportRecordsService', () => {
  let testApp: ProvisioningTestApp;
  let publisher: NatsConnection;
  let partnerId: string;
  let orgId: string;
  const rejected: { subject: string; body: Record<string, unknown> }[] = [];

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    publisher = await connect(natsOptions(testApp.nats.urlFor('records-publisher'), 'spec'));
    testApp.identity.link.connection.subscribe('rmm.records-rejected.>', {
      callback: (_, message) => void rejected.push({ subject: message.subject, body: message.json() }),
    });
    partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id as string;
  });
  afterAll(async () => {
    await publisher?.close();
    await testApp?.stop();
  });

  const build = (over: Record<string, unknown> = {}): Record<string, unknown> => ({
    schemaVersion: 1,
    messageId: randomUUID(),
    resource: 'automations',
    id: randomUUID(),
    partnerId,
    orgId,
    updatedAt: new Date().toISOString(),
    record: { name: 'A', enabled: true },
    ...over,
  });
  const publish = async (message: Record<string, unknown>, change = 'upsert', resource = message['resource']) => {
    const sent = headers();
    sent.set('Nats-Msg-Id', String(message['messageId']));
    await publisher
      .jetstream()
      .publish(`rmm.records.${String(resource)}.${change}`, JSON.stringify(message), { headers: sent });
  };
  const stored = async (id: unknown) =>
    (await testApp.admin.query('SELECT record, deleted_at FROM export_record WHERE id = $1', [id])).rows;
  /** All messages are settled, none is delivered again. */
  const untilSettled = () =>
    eventually(async () => {
      const manager = await testApp.identity.link.connection.jetstreamManager();
      const { num_pending, num_ack_pending } = await manager.consumers.info('RMM_RECORDS', 'provisioning-records');
      expect([num_pending, num_ack_pending]).toEqual([0, 0]);
    });

  it('stores, changes and deletes records that another service publishes', async () => {
    const message = build();
    await publish(message);
    await eventually(async () => expect(await stored(message['id'])).toMatchObject([{ record: { name: 'A' } }]));
    const next = { ...message, messageId: randomUUID(), updatedAt: new Date(Date.now() + 1_000).toISOString() };
    await publish({ ...next, record: { name: 'B', enabled: false } });
    await eventually(async () => expect(await stored(message['id'])).toMatchObject([{ record: { name: 'B' } }]));
    await publish({ ...message, messageId: randomUUID() });
    await untilSettled();
    expect(await stored(message['id'])).toMatchObject([{ record: { name: 'B' } }]);
    const updatedAt = new Date(Date.now() + 2_000).toISOString();
    await publish({ ...message, messageId: randomUUID(), updatedAt, record: undefined }, 'delete');
    await eventually(async () => expect(await stored(message['id'])).toMatchObject([{ deleted_at: expect.any(Date) }]));
  });

  it.each([
    ['an unknown version', { schemaVersion: 2 }, 'unknown schemaVersion'],
    ['an unknown organization', { orgId: randomUUID() }, 'unknown tenant'],
    ['an unknown partner', { partnerId: randomUUID(), orgId: null }, 'unknown tenant'],
    ['a partner that does not own the organization', { partnerId: randomUUID() }, 'unknown tenant'],
    ['an unknown site', { siteId: randomUUID() }, 'unknown site'],
    ['an invalid field', { record: { name: 'A' } }, 'invalid record: enabled'],
    [
      'a record that cannot be stored',
      { record: { name: 'a\u0000', enabled: true } },
      'invalid record: cannot be stored',
    ],
    ['a malformed time', { updatedAt: '0000-13-45' }, 'invalid message: updatedAt'],
    ['a malformed id', { id: 'x' }, 'invalid message: id'],
    ['no record', { record: undefined }, 'invalid record'],
  ])('terminates a message with %s and publishes it again once, with the reason', async (_, over, reason) => {
    const message = build(over);
    await publish(message);
    const copy = await eventually(() => {
      const found = rejected.find(({ body }) => body['messageId'] === message['messageId']);
      if (!found) throw new Error('not rejected yet');
      return found;
    });
    expect(copy.subject).toBe('rmm.records-rejected.automations');
    expect(copy.body).toMatchObject({ resource: 'automations', reason: expect.stringContaining(reason) });
    await untilSettled();
    expect(rejected.filter(({ body }) => body['messageId'] === message['messageId'])).toHaveLength(1);
    const { rows } = await testApp.admin.query('SELECT 1 FROM export_record WHERE id::text = $1', [message['id']]);
    expect(rows).toEqual([]);
  });

  it('terminates messages that are no records without stopping at them', async () => {
    const js = publisher.jetstream();
    for (const text of [
      '',
      'x',
      '[]',
      '7',
      '{"resource": "scripts"}',
      `{"record": ${'['.repeat(9_000)}${']'.repeat(9_000)}}`,
    ]) {
      await js.publish('rmm.records.automations.upsert', text);
    }
    await js.publish('rmm.records.a$b.upsert', JSON.stringify(build({ resource: 'a$b' })));
    await publish(build({ resource: 'weather' }));
    const message = build();
    await publish(message);
    await eventually(async () => expect(await stored(message['id'])).toHaveLength(1));
    await untilSettled();
    const { rows } = await testApp.admin.query('SELECT count(*)::int AS n FROM dead_letter_message');
    expect(rows).toEqual([{ n: 0 }]);
    // its copy is published after the message is settled
    await eventually(() => expect(rejected.map(({ subject }) => subject)).toContain('rmm.records-rejected.weather'));
  });

  it('stores each record once with two replicas', async () => {
    const replica = await testApp.startReplica();
    try {
      const messages = Array.from({ length: 60 }, () => build());
      await Promise.all(
        messages.flatMap((message) => [publish(message), publish({ ...message, messageId: randomUUID() })]),
      );
      await untilSettled();
      for (const { id } of messages) expect(await stored(id)).toHaveLength(1);
    } finally {
      await replica.close();
    }
  });
});
