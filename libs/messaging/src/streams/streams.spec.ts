import { connect, nanos, type NatsConnection } from 'nats';
import { startStores, type Stores, type TestNats } from '@rmm/testing-services';
import { ensureStreams, natsOptions, NatsLink, UnsuitableNatsServer } from '../index.js';

describe('ensureStreams', () => {
  let stores: Stores;
  let nats: TestNats;
  let connection: NatsConnection;

  beforeAll(async () => {
    stores = await startStores();
    nats = await stores.nats();
    connection = await connect(natsOptions(nats.adminUrl, 'spec'));
  });
  afterAll(async () => {
    await connection.close();
    await stores.stop();
  });

  const withInfo = (info: object) =>
    Object.create(connection, { info: { value: { ...connection.info, ...info } } }) as NatsConnection;

  it('creates the streams, changes nothing when repeated, and restores a changed setting', async () => {
    await ensureStreams(connection);
    await ensureStreams(connection);
    const manager = await connection.jetstreamManager();
    await manager.streams.update('RMM_EVENTS', { max_age: nanos(1_000_000) });
    await ensureStreams(connection);
    const { config } = await manager.streams.info('RMM_EVENTS');
    expect(config).toMatchObject({
      subjects: ['rmm.events.>'],
      storage: 'file',
      max_age: nanos(7 * 86_400_000),
      duplicate_window: nanos(600_000),
    });
    expect(config.max_msg_size).toBeGreaterThanOrEqual(256 * 1024);
  });

  it('keeps the copies that a stream was given without a number of copies', async () => {
    const update = jest.fn();
    const stored = { name: 'RMM_EVENTS', num_replicas: 3, subjects: ['other'] };
    const manager = {
      streams: { info: (name: string) => Promise.resolve({ config: { ...stored, name } }), update },
    };
    update.mockImplementation((_name: string, config: object) => Promise.resolve({ config }));
    const replicated = Object.create(connection, {
      jetstreamManager: { value: () => Promise.resolve(manager) },
    }) as NatsConnection;
    await ensureStreams(replicated, { durables: [] });
    expect(update).toHaveBeenCalledWith('RMM_EVENTS', expect.objectContaining({ num_replicas: 3 }));
  });

  it('refuses a server that is too old or has no JetStream', async () => {
    await expect(ensureStreams(withInfo({ version: '2.9.25' }))).rejects.toThrow(UnsuitableNatsServer);
    await expect(ensureStreams(withInfo({ jetstream: false }))).rejects.toThrow('without JetStream');
  });

  it('stores one of two messages with the same id', async () => {
    await ensureStreams(connection);
    const publish = () =>
      connection.jetstream().publish('rmm.internal.identity.partner.created', '{}', { msgID: 'once' });
    expect((await publish()).duplicate).toBe(false);
    expect((await publish()).duplicate).toBe(true);
  });
});

describe('NatsLink', () => {
  it('rejects when the first connection fails within its time limit', async () => {
    const link = new NatsLink({ url: 'nats://127.0.0.1:1', name: 'spec', startWithinMs: 600 });
    await expect(link.open()).rejects.toThrow('NATS is unavailable');
    expect(link.isConnected).toBe(false);
    await expect(link.check()).rejects.toThrow('not connected');
    await link.close();
  });

  it('notices a hanging server within seconds and recovers when it responds again', async () => {
    const stores = await startStores();
    const nats = await stores.nats();
    const gate = await stores.gate(nats.url);
    const link = new NatsLink({ url: gate.url, name: 'spec' });
    await link.open();
    const changes: string[] = [];
    const lost = new Promise<void>((resolve) => link.onDisconnect(() => (changes.push('lost'), resolve())));
    const back = new Promise<void>((resolve) => link.onReconnect(() => (changes.push('back'), resolve())));
    const started = performance.now();
    gate.stall();
    await lost;
    expect(performance.now() - started).toBeLessThan(10_000);
    await gate.shut();
    await gate.open();
    await back;
    await link.check();
    expect(changes).toContain('back');
    await link.close();
    await stores.stop();
  });
});
