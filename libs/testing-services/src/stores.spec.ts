import { connect } from 'node:net';
import pg from 'pg';
import { eventually, startStores, type Stores } from './index.js';

describe('the stores of a spec file', () => {
  let stores: Stores;

  beforeAll(async () => {
    stores = await startStores();
  });
  afterAll(() => stores.stop());

  it('gives each schema an owner, a service and a worker login without further rights', async () => {
    const database = await stores.createDatabase(['credentials', 'identity']);
    for (const [login, may] of [
      ['owner', true],
      ['service', false],
      ['worker', false],
    ] as const) {
      const [row] = await query(
        database.urls.credentials[login],
        `select rolsuper, rolbypassrls, has_schema_privilege('credentials', 'create') as creates,
                has_schema_privilege('credentials', 'usage') as uses, has_schema_privilege('identity', 'usage') as other
           from pg_roles where rolname = current_user`,
      );
      expect(row).toEqual({ rolsuper: false, rolbypassrls: false, creates: may, uses: true, other: false });
    }
  });

  it('creates many databases at once, and drops them', async () => {
    const databases = await Promise.all([1, 2, 3, 4].map(() => stores.createDatabase(['provisioning'])));
    expect(new Set(databases.map(({ adminUrl }) => adminUrl)).size).toBe(4);
    await Promise.all(databases.map((database) => database.drop()));
    const [first] = databases;
    await expect(query(first.adminUrl, 'select 1')).rejects.toMatchObject({ code: '3D000' });
  });

  it('keeps port and streams of NATS over stop, start and kill', async () => {
    const nats = await stores.nats();
    const { port } = new URL(nats.url);
    await nats.stop();
    await expect(greeting(port)).rejects.toThrow('ECONNREFUSED');
    await nats.start();
    expect(await greeting(port)).toContain('"jetstream":true');
    await nats.kill();
    await nats.start();
    expect(await greeting(port)).toContain('"auth_required":true');
  });

  it('serves counters of a NATS that is monitored', async () => {
    const nats = await stores.nats({ monitored: true });
    const counters = await (await fetch(`${nats.monitorUrl}/varz`)).json();
    expect(counters).toMatchObject({ slow_consumers: 0 });
    expect((await stores.nats()).monitorUrl).toBeUndefined();
  });

  it('limits each login of NATS to its own subjects', async () => {
    const nats = await stores.nats({ logins: true });
    const publishing = (url: string, subject: string) => {
      const { port, username: user, password: pass } = new URL(url);
      const connect = `CONNECT ${JSON.stringify({ user, pass, verbose: false })}`;
      return greeting(port, `${connect}\r\nPUB ${subject} 2\r\nhi\r\nPING\r\n`, 2);
    };
    const mine = nats.urlFor('identity');
    expect(await publishing(mine, 'rmm.internal.identity.user.created')).not.toContain('Permissions Violation');
    expect(await publishing(mine, 'rmm.internal.provisioning.site.deleted')).toContain('Permissions Violation');
    expect(await publishing(nats.adminUrl, 'rmm.internal.provisioning.site.deleted')).not.toContain('Violation');
    expect(() => nats.urlFor('stranger')).toThrow('no login stranger');
  });

  it('keeps the keys of Redis over stop and start', async () => {
    const { port, password } = new URL(stores.redisUrl);
    const login = `AUTH ${password}\r\n`;
    expect(await greeting(port, `${login}SET color blue\r\n`, 2)).toContain('+OK\r\n+OK');
    await stores.redis.stop();
    await expect(greeting(port, login)).rejects.toThrow('ECONNREFUSED');
    await stores.redis.start();
    expect(await greeting(port, `${login}GET color\r\n`, 3)).toContain('blue');
  });

  it('shuts the way to a shared server for one spec file alone', async () => {
    const database = await stores.createDatabase(['identity']);
    const gate = await stores.gate(database.adminUrl);
    expect(await query(gate.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await gate.shut();
    await expect(query(gate.url, 'select 1')).rejects.toThrow('ECONNREFUSED');
    expect(await query(database.adminUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await gate.open();
    expect(await query(gate.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('counts a round trip each time a client speaks after an reply', async () => {
    const database = await stores.createDatabase(['identity']);
    const gate = await stores.gate(database.adminUrl);
    const client = new pg.Client({ connectionString: gate.url });
    await client.connect();
    const before = gate.roundTrips();
    await client.query('select 1');
    await client.query('select $1::int', [2]);
    expect(gate.roundTrips() - before).toBe(2);
    await client.end();
  });
});

describe('eventually', () => {
  it('returns the first reply that is no error', async () => {
    let calls = 0;
    const reply = await eventually(() => {
      if (++calls < 3) throw new Error('not yet');
      return calls;
    });
    expect(reply).toBe(3);
  });

  it('gives up with the last error', async () => {
    let calls = 0;
    const failing = () => {
      throw new Error(`try ${++calls}`);
    };
    await expect(eventually(failing, { timeoutMs: 60, everyMs: 5 })).rejects.toThrow(/^try \d+$/);
    expect(calls).toBeGreaterThan(1);
  });
});

async function query(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the first `lines` lines of a server. */
function greeting(port: string, said = '', lines = 1): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port: Number(port) }, () => socket.write(said));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (text.split('\r\n').length <= lines) return;
      socket.destroy();
      resolve(text);
    });
  });
}
