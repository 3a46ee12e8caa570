import { DebugEvents } from 'nats';
import { eventually, startStores, type Stores, type TestNats } from '@rmm/testing-services';
import { openFreezableProxy, type FreezableProxy } from '../../test/freezable-proxy.js';
import { NatsLink } from './nats-link.service.js';
import { connectNats } from './nats.transport.js';

const SUBJECT = 'rmm.rpc.identity.access.resolve'; // which the login of provisioning may call
const QUICK = { timeout: 400, pingInterval: 500 };

describe('NatsLink with a frozen server', () => {
  let stores: Stores;
  let nats: TestNats;
  let asking: NatsLink;
  let proxy: FreezableProxy;
  let link: NatsLink;
  let dials = 0;
  let returns = 0;

  beforeAll(async () => {
    stores = await startStores();
    nats = await stores.nats({ logins: true });
    asking = new NatsLink({ url: nats.urlFor('provisioning'), name: 'provisioning' });
    await asking.open();
  });
  afterAll(async () => {
    await asking.close();
    await stores.stop();
  });
  beforeEach(async () => {
    proxy = await openFreezableProxy(nats.urlFor('identity'));
    link = new NatsLink({ url: proxy.url, name: 'identity', client: QUICK });
    dials = returns = 0;
    await link.open();
    link.onReconnect(() => returns++);
    link.connection.subscribe(SUBJECT, { queue: 'identity', callback: (_, message) => message.respond('yes') });
    await link.connection.flush();
    void countDials();
  });
  afterEach(async () => {
    await link.close();
    await proxy.close();
  });

  async function countDials(): Promise<void> {
    for await (const status of link.connection.status()) if (status.type === DebugEvents.Reconnecting) dials++;
  }
  /** Frozen until the link has given up two dials and is at the next. */
  async function freezeForTwoDials(): Promise<void> {
    proxy.freeze();
    await eventually(() => expect(dials).toBeGreaterThan(2));
    expect(link.isConnected).toBe(false);
  }
  async function ask(times: number): Promise<string[]> {
    const asked = Array.from({ length: times }, () => asking.connection.request(SUBJECT, '', { timeout: 5_000 }));
    return (await Promise.all(asked)).map((reply) => reply.string());
  }

  it('has one connection after the thaw, which serves every call, and reports the reconnect once', async () => {
    await freezeForTwoDials();
    proxy.thaw();
    await eventually(() => expect([link.isConnected, proxy.open()]).toEqual([true, 1]));
    await link.check();
    expect(await ask(200)).toEqual(Array(200).fill('yes'));
    expect(returns).toBe(1);
    expect(proxy.open()).toBe(1);
  });

  it('closes the sockets of dials it gave up', async () => {
    await freezeForTwoDials();
    await eventually(() => expect(proxy.unanswered()).toBeLessThan(2));
  });

  it('notices the outage with more to send than the server accepts', async () => {
    proxy.freeze();
    for (let i = 0; i < 64; i++) link.connection.publish('rmm.audit.identity', new Uint8Array(1_000_000));
    await eventually(() => expect(link.isConnected).toBe(false));
  });

  it('reports the reconnect once when the server closed connections during the handshake', async () => {
    proxy.freeze();
    proxy.hangUpOn(2);
    await eventually(() => expect(link.isConnected).toBe(false));
    proxy.thaw();
    await eventually(() => expect([link.isConnected, proxy.toHangUpOn()]).toEqual([true, 0]));
    await link.check();
    expect(await ask(200)).toEqual(Array(200).fill('yes'));
    expect(returns).toBe(1);
  });

  it('stays closed when it is closed during the outage', async () => {
    await freezeForTwoDials();
    await eventually(() => expect(proxy.unanswered()).toBe(1));
    await link.close();
    await eventually(() => expect(proxy.unanswered()).toBe(0));
    proxy.thaw();
    await eventually(() => expect(proxy.open()).toBe(0));
    expect(link.connection.isClosed()).toBe(true);
  });

  it('stays closed when it is closed before the outage is noticed', async () => {
    proxy.freeze();
    await link.close();
    expect(link.connection.isClosed()).toBe(true);
    proxy.thaw();
    await eventually(() => expect(proxy.open()).toBe(0));
  });

  it('does not dial once it is closed', async () => {
    const servers = [new URL(proxy.url).host];
    await expect(connectNats({ servers, closed: AbortSignal.abort() })).rejects.toThrow('was closed');
  });
});
