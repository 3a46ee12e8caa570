import { connect, Events, type NatsConnection } from 'nats';
import { SERVICES, type ServiceName, type StreamKind } from '@rmm/contracts';
import { eventually, startStores, type Stores, type TestNats } from '@rmm/testing-services';
import { DurableConsumer } from '../consume/durable-consumer.js';
import { ensureStreams, NatsLink, natsOptions, verifyStreams } from '../index.js';
import { PublishRefused } from '../messaging.errors.js';
import { JetStreamPublisher } from '../outbox/jetstream-publisher.js';

type Attempt = [login: ServiceName, what: string];

describe('NATS permissions', () => {
  let stores: Stores;
  let nats: TestNats;
  const connections = new Map<string, NatsConnection>();
  const violations = new Map<string, string[]>();
  const links: NatsLink[] = [];

  beforeAll(async () => {
    stores = await startStores();
    nats = await stores.nats({ logins: true });
    for (const login of ['fleet', ...SERVICES]) {
      const connection = await connect(natsOptions(nats.urlFor(login), login));
      connections.set(login, connection);
      violations.set(login, []);
      void (async () => {
        for await (const status of connection.status()) {
          const { operation, subject } = status.permissionContext ?? {};
          if (status.type === Events.Error && operation) violations.get(login)?.push(`${operation} ${subject}`);
        }
      })();
    }
    await ensureStreams(as('fleet'));
  }, 60_000);
  afterAll(async () => {
    await Promise.all([...links.map((link) => link.close()), ...[...connections.values()].map((each) => each.close())]);
    await stores.stop();
  });

  async function linkFor(login: string): Promise<NatsLink> {
    const link = new NatsLink({ url: nats.urlFor(login), name: login });
    links.push(link);
    await link.open();
    return link;
  }
  const as = (login: string): NatsConnection => {
    const connection = connections.get(login);
    if (!connection) throw new Error(`No connection for ${login}`);
    return connection;
  };
  /** Publishes or subscribes; returns whether the server reported a violation. */
  async function isForbidden(login: string, operation: 'publish' | 'subscription', subject: string): Promise<boolean> {
    const connection = as(login);
    if (operation === 'publish') connection.publish(subject, '{}');
    else connection.subscribe(subject, { callback: () => undefined });
    await connection.flush();
    await new Promise((resolve) => setTimeout(resolve, 5));
    return violations.get(login)?.includes(`${operation} ${subject}`) ?? false;
  }

  it.each<Attempt>([
    ['identity', 'rmm.internal.identity.partner.created'],
    ['identity', 'rmm.audit.identity'],
    ['identity', 'rmm.events.0b0c.user.login'],
    ['identity', 'rmm.broadcast.access.changed'],
    ['identity', 'rmm.rpc.provisioning.organizations.ensure-first'],
    ['credentials', 'rmm.broadcast.credential.changed'],
    ['credentials', 'rmm.rpc.provisioning.devices.existing'],
    ['partner-gateway', 'rmm.rpc.credentials.keys.resolve'],
    ['partner-gateway', 'rmm.rpc.provisioning.export.sites'],
    ['provisioning', 'rmm.events.0b0c.device.enrolled'],
    ['provisioning', 'rmm.records-rejected.device-software'],
    ['provisioning', 'rmm.rpc.credentials.enrollment-keys.reserve'],
    ['webhook-dispatcher', 'rmm.rpc.identity.mail.send'],
    ['webhook-dispatcher', 'rmm.audit.webhook-dispatcher'],
  ])('allows %s to publish on %s', async (login, subject) => {
    expect(await isForbidden(login, 'publish', subject)).toBe(false);
  });

  it.each<Attempt>([
    ['identity', 'rmm.internal.provisioning.organization.created'],
    ['identity', 'rmm.events.0b0c.device.enrolled'],
    ['identity', 'rmm.broadcast.credential.changed'],
    ['credentials', 'rmm.audit.identity'],
    ['credentials', 'rmm.events.0b0c.device.enrolled'],
    ['credentials', 'rmm.broadcast.access.changed'],
    ['partner-gateway', 'rmm.events.0b0c.user.login'],
    ['partner-gateway', 'rmm.rpc.provisioning.devices.existing'],
    ['provisioning', 'rmm.internal.identity.partner.created'],
    ['webhook-dispatcher', 'rmm.rpc.credentials.keys.resolve'],
    ['webhook-dispatcher', 'rmm.events.0b0c.device.offline'],
    ['webhook-dispatcher', '$JS.API.STREAM.DELETE.RMM_EVENTS'],
    ['webhook-dispatcher', '$JS.API.CONSUMER.MSG.NEXT.RMM_AUDIT.identity-audit'],
    ['credentials', '$JS.API.CONSUMER.DELETE.RMM_INTERNAL.identity-internal'],
    ['credentials', '$JS.ACK.RMM_INTERNAL.identity-internal.1.1.1.1.0'],
    ['provisioning', '_INBOX.identity.forged'],
  ])('forbids %s to publish on %s', async (login, subject) => {
    expect(await isForbidden(login, 'publish', subject)).toBe(true);
  });

  it.each<Attempt>([
    ['identity', 'rmm.rpc.identity.access.resolve'],
    ['provisioning', 'rmm.rpc.provisioning.export.sites'],
    ['credentials', 'rmm.broadcast.access.*'],
    ['partner-gateway', 'rmm.broadcast.credential.changed'],
  ])('allows %s to subscribe to %s', async (login, subject) => {
    expect(await isForbidden(login, 'subscription', subject)).toBe(false);
  });

  it.each<Attempt>([
    ['credentials', 'rmm.rpc.identity.access.resolve'],
    ['webhook-dispatcher', 'rmm.events.>'],
    ['provisioning', 'rmm.audit.>'],
    ['partner-gateway', '_INBOX.>'],
    ['identity', '_INBOX.credentials.>'],
    ['identity', '$JS.>'],
    ['identity', '>'],
  ])('forbids %s to subscribe to %s', async (login, subject) => {
    expect(await isForbidden(login, 'subscription', subject)).toBe(true);
  });

  it('allows a service to read the streams and forbids it to change them', async () => {
    await expect(verifyStreams(as('credentials'))).resolves.toBeUndefined();
    const manager = await as('credentials').jetstreamManager();
    await expect(manager.streams.purge('RMM_INTERNAL')).rejects.toThrow(/ermission/);
  });

  it.each<[ServiceName, StreamKind, string]>([
    ['identity', 'audit', 'rmm.audit.credentials'],
    ['credentials', 'internal', 'rmm.internal.provisioning.organization.created'],
    ['partner-gateway', 'internal', 'rmm.internal.provisioning.organization.updated'],
    ['provisioning', 'internal', 'rmm.internal.identity.partner.updated'],
    ['webhook-dispatcher', 'events', 'rmm.events.0b0c.alert.triggered'],
  ])(
    'allows %s to consume the stream %s with its own durable consumer, also after a restart',
    async (login, stream, subject) => {
      for (const run of ['first', 'second']) {
        const received: string[] = [];
        const link = await linkFor(login);
        const consumer = new DurableConsumer(
          link,
          { stream, durable: `${login}-${stream}`, subjects: [subject], prefetch: 8 },
          async (message) => {
            received.push(message.string());
            await message.ackAck();
          },
        );
        consumer.start();
        await as('fleet').jetstream().publish(subject, `${login} ${run}`);
        await eventually(() => expect(received).toEqual([`${login} ${run}`]));
        await consumer.stop();
        await link.close();
      }
    },
  );

  it('allows the relay of a service to publish and reports a forbidden subject to it', async () => {
    const link = await linkFor('provisioning');
    const publisher = new JetStreamPublisher(link);
    await publisher.publish('rmm.internal.provisioning.site.created', '{}', 'id-1');
    await expect(publisher.publish('rmm.internal.identity.user.created', '{}', 'id-2')).rejects.toThrow(PublishRefused);
    publisher.close();
    await link.close();
  });

  it('delivers replies to the inbox of the caller', async () => {
    as('identity').subscribe('rmm.rpc.identity.spec', { queue: 'identity', callback: (_, m) => m.respond('yes') });
    as('provisioning').publish('rmm.rpc.identity.spec');
    const reply = await eventually(() => as('provisioning').request('rmm.rpc.identity.spec', '', { timeout: 500 }));
    expect(reply.string()).toBe('yes');
  });
});
