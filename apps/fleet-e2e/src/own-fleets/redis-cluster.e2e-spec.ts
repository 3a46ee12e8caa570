import { Cluster } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOrganization, eventually, MailboxClient, partnerWithMfa, type ApiClient } from '@rmm/testing';
import { createApiKey, enrollDevice, machine, rateOf } from '../credentials/machines.js';
import { must } from '../steps.js';
import { OwnFleet } from './own-fleet.js';

jest.setTimeout(900_000);

const SHARDS = ['redis', 'redis-2', 'redis-3'] as const;
/** Enough for windows on each shard. */
const KEYS = 12;
const LIMIT = 100_000;
/** Pause between two requests with a key and between two invitations, in milliseconds. */
const KEY_PAUSE_MS = 100;
const INVITE_PAUSE_MS = 300;
/** Longer than the three seconds after which the replica of a silent server takes its place. */
const HANG_MS = 9_000;

interface KeyLoad {
  id: string;
  accepted: number;
  refused: number[];
  /** Requests left in the window after the last accepted one. */
  remaining: number;
}

describe('a fleet on a Redis cluster of three shards', () => {
  let fleet: OwnFleet;
  let redis: Cluster;

  beforeAll(async () => {
    fleet = await OwnFleet.start(['--redis-cluster']);
    const { host, password } = new URL(fleet.handle.redisUrl);
    const redisOptions = { password, commandTimeout: 1_000 }; // a server may hang
    redis = new Cluster([host], { redisOptions, slotsRefreshInterval: 1_000 });
    redis.on('error', () => undefined); // a command that cannot be sent rejects
  });
  afterAll(async () => {
    redis?.disconnect();
    await fleet?.stop();
  });

  /** Waits until each shard has a server and a replica, and none is failing. */
  const untilWhole = () =>
    eventually(
      async () => {
        const servers = String(await redis.cluster('NODES'))
          .trim()
          .split('\n');
        expect(servers.filter((line) => line.includes('fail') || !line.includes(' connected'))).toEqual([]);
        const replicated = servers.flatMap((line) => /slave (\w+)/.exec(line)?.[1] ?? []);
        expect(new Set(replicated).size).toBe(SHARDS.length);
      },
      { timeoutMs: 180_000, everyMs: 500 },
    );

  /** Returns the process of a server that owns slots. */
  const findOwner = () =>
    eventually(async () => {
      for (const server of redis.nodes()) {
        const info = String(await server.call('INFO'));
        if (info.includes('role:master')) return Number(/process_id:(\d+)/.exec(info)?.[1]);
      }
      throw new Error('no server owns slots');
    });

  /** Creates an organization with a device, whose custom fields its keys read. */
  const createTenant = async () => {
    const { client } = await partnerWithMfa(fleet.handle);
    const { orgId } = await createOrganization(client);
    const fields = `/devices/${await enrollDevice(fleet.handle, client, orgId)}/custom-fields`;
    const { data: roles } = must(await client.get('/users/roles?limit=100'), 200);
    const [{ id: roleId }] = roles as { id: string }[];
    const invite = (email: string) => client.post('/users/invite', { email, name: 'Robin User', roleId });
    return { client, orgId, fields, invite, mailbox: new MailboxClient(fleet.handle.mailboxUrl) };
  };

  it('loses no mail and no use of a key while the servers of its shards hang and are killed', async () => {
    const { client, orgId, fields, invite, mailbox } = await createTenant();
    const isOver = new AbortController();
    const invitations = { sent: [] as string[], refused: [] as number[] };
    const loads: Promise<KeyLoad>[] = [];
    for (let n = 0; n < KEYS; n++) {
      const { id, key } = await createApiKey(client, orgId, { name: `Key ${n}`, rateLimit: LIMIT });
      loads.push(useKey(id, machine(fleet.handle, key), fields, isOver.signal));
    }
    const inviting = (async () => {
      while (!isOver.signal.aborted) {
        const email = `user-${randomUUID()}@users.test`;
        const { status } = await invite(email);
        if (status === 201) invitations.sent.push(email);
        else invitations.refused.push(status);
        await sleep(INVITE_PAUSE_MS);
      }
    })();
    try {
      for (const server of SHARDS) {
        await untilWhole();
        await fleet.signalStore(server, 'SIGSTOP');
        await sleep(HANG_MS);
        await fleet.signalStore(server, 'SIGKILL');
      }
      await untilWhole();
      await sleep(2_000); // some requests after the last failure
    } finally {
      isOver.abort();
      await inviting;
    }
    const keys = await Promise.all(loads);
    const used = keys.reduce((sum, { accepted }) => sum + accepted, 0);
    const counted = keys.reduce((sum, { remaining }) => sum + LIMIT - remaining, 0);
    const refused = keys.flatMap((key) => key.refused);
    const { sent } = invitations;
    const figures = {
      used,
      counted,
      refused: refused.length,
      invited: sent.length,
      notInvited: invitations.refused.length,
    };
    process.stdout.write(`    ${JSON.stringify(figures)}\n`);

    expect([...refused, ...invitations.refused].filter((status) => status !== 503)).toEqual([]);
    for (const email of sent) {
      await eventually(async () => expect(await mailbox.messages(email)).toHaveLength(1), { timeoutMs: 180_000 });
    }
    for (const { id, accepted } of keys) {
      const usage = async () => must(await client.get(`/api-keys/${id}`), 200).usageCount as number;
      await eventually(async () => expect(await usage()).toBe(accepted), { timeoutMs: 180_000, everyMs: 500 });
    }
  });

  it('accepts keys and sends mails again while the server of a shard keeps its connections and hangs', async () => {
    const { client, orgId, fields, invite, mailbox } = await createTenant();
    const keys = await Promise.all(
      Array.from({ length: KEYS }, () => createApiKey(client, orgId, { name: 'Hang', rateLimit: LIMIT })),
    );
    await untilWhole();
    const owner = await findOwner();
    process.kill(owner, 'SIGSTOP');
    try {
      const within = { timeoutMs: 60_000, everyMs: 200 };
      await eventually(async () => expect(String(await redis.cluster('NODES'))).toContain(' master,fail '), within);
      for (const { key } of keys) {
        await eventually(async () => must(await machine(fleet.handle, key).get(fields), 200), within);
      }
      const email = `user-${randomUUID()}@users.test`;
      must(await invite(email), 201);
      await eventually(async () => expect(await mailbox.messages(email)).toHaveLength(1), within);
    } finally {
      process.kill(owner, 'SIGCONT');
    }
  });
});

/** Sends requests with a key until the signal, the last one until it is accepted. */
async function useKey(id: string, client: ApiClient, path: string, isOver: AbortSignal): Promise<KeyLoad> {
  const load: KeyLoad = { id, accepted: 0, refused: [], remaining: LIMIT };
  for (let isAccepted = false; !isOver.aborted || !isAccepted; await sleep(KEY_PAUSE_MS)) {
    const response = await client.get(path);
    isAccepted = response.status === 200;
    if (isAccepted) {
      load.accepted += 1;
      load.remaining = rateOf(response)[1] ?? NaN;
    } else load.refused.push(response.status);
  }
  return load;
}
