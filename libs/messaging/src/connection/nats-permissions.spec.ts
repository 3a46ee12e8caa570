import { AckPolicy, connect, Events, type NatsConnection } from 'nats';
import * as contracts from '@rmm/contracts';
import {
  DURABLES,
  SERVICES,
  STREAMS,
  type BroadcastMap,
  type RpcContract,
  type ServiceName,
  type StreamKind,
} from '@rmm/contracts';
import { eventually, startStores, type Stores, type TestNats } from '@rmm/testing-services';
import { DurableConsumer } from '../consume/durable-consumer.js';
import { StoredMessages, textOf } from '../consume/stored-messages.js';
import { ensureStreams, NatsLink, natsOptions } from '../index.js';
import { PublishRefused } from '../messaging.errors.js';
import { JetStreamPublisher } from '../outbox/jetstream.publisher.js';
import { assertDurable } from '../streams/durables.js';
import { readStorageUse } from '../streams/streams.js';

type Attempt = [login: ServiceName | 'records-publisher', what: string];

/** Every contract between services. */
const CONTRACTS = Object.values(contracts as Record<string, unknown>).filter(
  (value): value is RpcContract<unknown, unknown> =>
    typeof value === 'object' && value !== null && 'subject' in value && String(value.subject).startsWith('rmm.rpc.'),
);

const sorted = (...names: string[]): string[] => names.sort();
const DIRECTORY = ['provisioning.organizations.get', 'provisioning.organizations.list-since'];
const ERASURE = 'provisioning.organization-erasures.report';
/** The contracts that each service calls. */
const CALLS: Record<ServiceName, string[]> = {
  identity: sorted(
    'provisioning.device-groups.existing',
    'provisioning.organizations.ensure-first',
    'provisioning.sites.existing',
    ERASURE,
    ...DIRECTORY,
  ),
  credentials: sorted(
    'identity.access.in-organization',
    'identity.access.resolve',
    'identity.mail.send',
    'identity.partners.get',
    'identity.partners.list-since',
    'provisioning.devices.existing',
    'provisioning.sites.get',
    ERASURE,
    ...DIRECTORY,
  ),
  'partner-gateway': sorted(
    'credentials.keys.record-usage',
    'credentials.keys.resolve',
    'credentials.partner-enrollment-keys.create',
    'provisioning.export.automations',
    'provisioning.export.backup-configurations',
    'provisioning.export.configuration-assignments',
    'provisioning.export.configuration-policies',
    'provisioning.export.custom-field-values',
    'provisioning.export.custom-fields',
    'provisioning.export.device-inventory',
    'provisioning.export.device-relationships',
    'provisioning.export.device-software',
    'provisioning.export.devices',
    'provisioning.export.organizations',
    'provisioning.export.scripts',
    'provisioning.export.sites',
    'provisioning.mcp.get-device',
    'provisioning.mcp.get-script',
    'provisioning.mcp.list-automations',
    'provisioning.mcp.list-devices',
    'provisioning.mcp.list-scripts',
    'provisioning.mcp.list-sites',
    'provisioning.mcp.posture-summary',
    'provisioning.mcp.set-custom-fields',
    'provisioning.mcp.set-tags',
    'provisioning.organizations.get',
    'provisioning.partner-organizations.create',
    'provisioning.partner-sites.create',
    'webhook-dispatcher.mcp.list-alerts',
  ),
  provisioning: sorted(
    'credentials.enrollment-keys.confirm',
    'credentials.enrollment-keys.release',
    'credentials.enrollment-keys.reserve',
    'credentials.keys.record-usage',
    'credentials.keys.resolve',
    'identity.access.resolve',
    'identity.partners.get',
    'identity.partners.list-since',
    'identity.security-policy.apply',
    'identity.organization-export.page',
    'credentials.organization-export.page',
    'webhook-dispatcher.organization-export.page',
    'identity.organizations.in-use',
    'identity.mail.send',
    'credentials.organizations.in-use',
    'webhook-dispatcher.organizations.in-use',
  ),
  'webhook-dispatcher': sorted(
    'identity.access.resolve',
    'identity.mail.send',
    'identity.partners.get',
    'identity.partners.list-since',
    ERASURE,
    ...DIRECTORY,
  ),
};

/** The services that each broadcast is for. */
const BROADCASTS: Record<keyof BroadcastMap, readonly ServiceName[]> = {
  'access.changed': SERVICES,
  'access.heartbeat': SERVICES,
  'access.keys-withdrawn': SERVICES,
  'credential.changed': SERVICES,
  'credential.heartbeat': SERVICES,
  'organization.heartbeat': SERVICES,
  'agent.changed': ['provisioning'],
  'webhook.changed': ['webhook-dispatcher'],
  'webhook.due': ['webhook-dispatcher'],
  'webhook.partitions': ['webhook-dispatcher'],
};

describe('NATS permissions', () => {
  let stores: Stores;
  let nats: TestNats;
  const connections = new Map<string, NatsConnection>();
  const violations = new Map<string, string[]>();
  const links: NatsLink[] = [];

  beforeAll(async () => {
    stores = await startStores();
    nats = await stores.nats({ logins: true });
    for (const login of ['fleet', 'records-publisher', ...SERVICES]) {
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
  });
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
    ['identity', 'rmm.events.0b0c.user.invited'],
    ['identity', 'rmm.broadcast.access.changed'],
    ['credentials', 'rmm.events.0b0c.api_key.created'],
    ['credentials', 'rmm.events.0b0c.api_key.revoked'],
    ['credentials', 'rmm.broadcast.credential.changed'],
    ['provisioning', 'rmm.events.0b0c.device.enrolled'],
    ['provisioning', 'rmm.events.0b0c.organization.created'],
    ['provisioning', 'rmm.events.0b0c.site.updated'],
    ['provisioning', 'rmm.records-rejected.device-software'],
    ['webhook-dispatcher', 'rmm.audit.webhook-dispatcher'],
    ['records-publisher', 'rmm.records.device-software.upsert'],
  ])('allows %s to publish on %s', async (login, subject) => {
    expect(await isForbidden(login, 'publish', subject)).toBe(false);
  });

  it('allows each service to call the contracts it needs and no other', async () => {
    const allowed: Record<ServiceName, string[]> = Object.fromEntries(SERVICES.map((login) => [login, []])) as never;
    for (const login of SERVICES) {
      for (const { subject } of CONTRACTS) {
        if (!(await isForbidden(login, 'publish', subject))) allowed[login].push(subject.replace('rmm.rpc.', ''));
      }
    }
    for (const login of SERVICES) expect([login, ...sorted(...allowed[login])]).toEqual([login, ...CALLS[login]]);
  });

  it.each<Attempt>([
    ['identity', 'rmm.internal.provisioning.organization.created'],
    ['identity', 'rmm.events.0b0c.device.enrolled'],
    ['provisioning', 'rmm.events.0b0c.user.login'],
    ['identity', 'rmm.broadcast.credential.changed'],
    ['identity', 'rmm.broadcast.access.anything'],
    ['identity', 'rmm.operations.identity.rotate-signing-key'],
    ['credentials', 'rmm.audit.identity'],
    ['identity', 'rmm.events.0b0c.api_key.created'],
    ['credentials', 'rmm.events.0b0c.device.enrolled'],
    ['credentials', 'rmm.events.0b0c.user.invited'],
    ['credentials', 'rmm.events.0b0c.api_keys.created'],
    ['provisioning', 'rmm.events.0b0c.api_key.created'],
    ['credentials', 'rmm.broadcast.access.changed'],
    ['credentials', 'rmm.internal.credentials.anything'],
    ['partner-gateway', 'rmm.events.0b0c.user.login'],
    ['partner-gateway', 'rmm.internal.partner-gateway.anything'],
    ['partner-gateway', 'rmm.operations.identity.rotate-signing-key'],
    ['provisioning', 'rmm.internal.identity.partner.created'],
    ['provisioning', 'rmm.records.device-software.upsert'],
    ['records-publisher', 'rmm.records-rejected.device-software'],
    ['records-publisher', 'rmm.events.0b0c.device.enrolled'],
    ['records-publisher', '$JS.API.STREAM.PURGE.RMM_RECORDS'],
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
    ['webhook-dispatcher', 'rmm.rpc.webhook-dispatcher.mcp.list-alerts'],
  ])('allows %s to subscribe to %s', async (login, subject) => {
    expect(await isForbidden(login, 'subscription', subject)).toBe(false);
  });

  it.each<Attempt>([
    ['credentials', 'rmm.rpc.identity.access.resolve'],
    ['webhook-dispatcher', 'rmm.events.>'],
    ['provisioning', 'rmm.audit.>'],
    ['partner-gateway', '_INBOX.>'],
    ['partner-gateway', 'rmm.internal.>'],
    ['identity', '_INBOX.credentials.>'],
    ['partner-gateway', 'rmm.broadcast.>'],
    ['credentials', 'rmm.broadcast.access.*'],
    ['identity', '$JS.>'],
    ['identity', '>'],
  ])('forbids %s to subscribe to %s', async (login, subject) => {
    expect(await isForbidden(login, 'subscription', subject)).toBe(true);
  });

  it.each(Object.entries(BROADCASTS))(
    'allows to subscribe to the broadcast %s only who acts on it',
    async (topic, readers) => {
      const allowed: string[] = [];
      for (const login of SERVICES) {
        if (!(await isForbidden(login, 'subscription', `rmm.broadcast.${topic}`))) allowed.push(login);
      }
      expect(sorted(...allowed)).toEqual(sorted(...readers));
    },
  );

  it.each(SERVICES)('allows %s to read how much storage all streams use', async (login) => {
    await expect(readStorageUse((await linkFor(login)).connection)).resolves.toBe(0);
  });

  it.each(SERVICES)('forbids %s to create, change and delete streams and consumers and to list them', async (login) => {
    const own = DURABLES.filter(({ service }) => service === login);
    const targets = own.length > 0 ? own : [{ name: `${login}-internal`, stream: 'internal' as const }];
    const subjectsOf = ({ stream, name, headersOnly }: { stream: StreamKind; name: string; headersOnly?: boolean }) => {
      const { name: of } = STREAMS[stream];
      return [
        `CONSUMER.CREATE.${of}`,
        `CONSUMER.CREATE.${of}.${name}`,
        `CONSUMER.CREATE.${of}.${name}.rmm.internal.identity.partner.created`,
        `CONSUMER.DURABLE.CREATE.${of}.${name}`,
        `CONSUMER.DELETE.${of}.${name}`,
        `CONSUMER.PAUSE.${of}.${name}`,
        `CONSUMER.LIST.${of}`,
        `STREAM.INFO.${of}`,
        `STREAM.UPDATE.${of}`,
        `STREAM.PURGE.${of}`,
        `STREAM.MSG.GET.${of}`,
        // The one that reads headers first reads messages by their numbers.
        ...(headersOnly ? [`DIRECT.GET.${of}.rmm.events.>`] : [`DIRECT.GET.${of}`]),
      ];
    };
    for (const subject of ['STREAM.NAMES', ...targets.flatMap(subjectsOf)]) {
      expect([subject, await isForbidden(login, 'publish', `$JS.API.${subject}`)]).toEqual([subject, true]);
    }
  });

  it('forbids a service to have the server deliver its messages on a subject it may not publish to', async () => {
    const manager = await as('fleet').jetstreamManager();
    const received: string[] = [];
    const target = 'rmm.operations.identity.rotate-signing-key';
    as('identity').subscribe(target, { queue: 'identity', callback: (_, message) => received.push(message.subject) });
    for (const [login, stream, name] of [
      ['partner-gateway', 'RMM_INTERNAL', 'partner-gateway-internal'],
      ['provisioning', 'RMM_RECORDS', 'provisioning-other-records'],
      ['credentials', 'RMM_INTERNAL', 'credentials-internal'],
    ] as const) {
      if (login === 'credentials') await manager.consumers.delete(stream, name);
      const own = await as(login).jetstreamManager({ checkAPI: false });
      const push = { durable_name: name, deliver_subject: target, deliver_group: 'identity' };
      await expect(own.consumers.add(stream, { ...push, ack_policy: AckPolicy.None })).rejects.toThrow(/ermission/);
      await expect(manager.consumers.info(stream, name)).rejects.toThrow(/not found/);
    }
    await as('fleet').jetstream().publish('rmm.internal.identity.partner.created', '{}');
    await as('fleet').flush();
    expect(received).toEqual([]);
    await ensureStreams(as('fleet'));
  });

  it('refuses to read a durable consumer that pushes its messages, and to keep one', async () => {
    const manager = await as('fleet').jetstreamManager();
    const [stream, name] = ['RMM_INTERNAL', 'credentials-internal'];
    await manager.consumers.delete(stream, name);
    await manager.consumers.add(stream, {
      durable_name: name,
      deliver_subject: 'elsewhere',
      ack_policy: AckPolicy.Explicit,
    });
    const wanted = { stream: 'internal', durable: name, subjects: [] } as const;
    await expect(assertDurable(as('credentials'), wanted)).rejects.toThrow('push consumer');
    await expect(ensureStreams(as('fleet'))).rejects.toThrow('delete it');
    await manager.consumers.delete(stream, name);
    await ensureStreams(as('fleet'));
    await expect(assertDurable(as('credentials'), wanted)).resolves.toBeUndefined();
  });

  it.each<[ServiceName, StreamKind, string]>([
    ['identity', 'audit', 'rmm.audit.credentials'],
    ['credentials', 'internal', 'rmm.internal.provisioning.organization.created'],
    ['provisioning', 'internal', 'rmm.internal.identity.partner.updated'],
    ['provisioning', 'records', 'rmm.records.automations.upsert'],
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
        await eventually(() => expect(received).toContain(`${login} ${run}`));
        await consumer.stop();
        await link.close();
      }
    },
  );

  it('allows the dispatcher alone to read events by their numbers', async () => {
    const { seq } = await as('fleet').jetstream().publish('rmm.events.0b0c.alert.triggered', 'an alert');
    const stored = new StoredMessages(await linkFor('webhook-dispatcher'), 'RMM_EVENTS');
    expect(textOf(await stored.read(seq))).toBe('an alert');
    stored.stop();
    for (const login of SERVICES.filter((name) => name !== 'webhook-dispatcher'))
      expect([login, await isForbidden(login, 'publish', '$JS.API.DIRECT.GET.RMM_EVENTS')]).toEqual([login, true]);
  });

  it('refuses to read headers from a durable consumer of whole messages, and the other way round', async () => {
    await expect(
      assertDurable(as('webhook-dispatcher'), {
        stream: 'events',
        durable: 'webhook-dispatcher-events',
        subjects: ['rmm.events.>'],
      }),
    ).rejects.toThrow('delivers headers only');
    await expect(
      assertDurable(as('credentials'), {
        stream: 'internal',
        durable: 'credentials-internal',
        subjects: [],
        headersOnly: true,
      }),
    ).rejects.toThrow('delivers whole messages');
  });

  it('delivers to a service only the integration events that it handles', async () => {
    const { config } = await (
      await as('fleet').jetstreamManager()
    ).consumers.info('RMM_INTERNAL', 'credentials-internal');
    expect(config.filter_subjects).not.toContain('rmm.internal.identity.user.mfa_reset');
    await as('fleet').jetstream().publish('rmm.internal.identity.user.mfa_reset', 'a reset');
    await as('fleet').jetstream().publish('rmm.internal.identity.partner.created', 'a partner');
    const consumer = await as('credentials').jetstream().consumers.get('RMM_INTERNAL', 'credentials-internal');
    const received: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: 100, expires: 1_000 }))
      received.push(message.string());
    expect(received).toContain('a partner');
    expect(received).not.toContain('a reset');
  });

  it('allows the relay of a service to publish and reports a forbidden subject to it', async () => {
    const link = await linkFor('provisioning');
    const publisher = new JetStreamPublisher(link);
    await publisher.publish('rmm.internal.provisioning.site.deleted', '{}', 'id-1');
    await expect(publisher.publish('rmm.internal.identity.user.created', '{}', 'id-2')).rejects.toThrow(PublishRefused);
    publisher.close();
    await link.close();
  });

  it('delivers replies to the inbox of the caller', async () => {
    as('identity').subscribe('rmm.rpc.identity.security-policy.apply', {
      queue: 'identity',
      callback: (_, m) => m.respond('yes'),
    });
    as('provisioning').publish('rmm.rpc.identity.security-policy.apply');
    const reply = await eventually(() =>
      as('provisioning').request('rmm.rpc.identity.security-policy.apply', '', { timeout: 500 }),
    );
    expect(reply.string()).toBe('yes');
  });
});
