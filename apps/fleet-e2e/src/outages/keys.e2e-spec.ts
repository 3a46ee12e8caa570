import { setTimeout as sleep } from 'node:timers/promises';
import {
  eventually,
  connectToFleet,
  createOrganization,
  partnerWithMfa,
  type ApiResponse,
  type ApiClient,
} from '@rmm/testing';
import { enrollDevice, machine, createApiKey, rateOf } from '../credentials/machines.js';
import { must } from '../steps.js';
import { killService, signalStore, untilReady } from './killing.js';

jest.setTimeout(600_000);

/** Caches are not trusted after 30 seconds without the invalidation feed. */
const CUT_OFF_MS = 31_000;
/** Slower than the limit of a client's requests per minute. */
const POLLING = { timeoutMs: 180_000, everyMs: 500 };

describe('API keys during outages', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let orgId: string;
  let fields: string;

  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    orgId = (await createOrganization(client)).orgId;
    fields = `/devices/${await enrollDevice(fleet, client, orgId)}/custom-fields`;
  });
  afterEach(() => untilReady());

  /** Sends requests with a key from several clients until stopped, and collects the responses. */
  function traffic(key: string) {
    const responses: ApiResponse[] = [];
    let isOver = false;
    const side = async () => {
      const asking = machine(fleet, key);
      while (!isOver) {
        // the edge responds for a service that was just killed
        responses.push(await asking.get(fields));
        await sleep(5);
      }
    };
    const sides = Promise.all(Array.from({ length: 6 }, side));
    return {
      responses,
      since: (from: number) => responses.slice(from),
      stop: async () => {
        isOver = true;
        await sides;
        return responses;
      },
    };
  }

  const statuses = (responses: readonly ApiResponse[]) => [...new Set(responses.map(({ status }) => status))].sort();
  const usageOf = async (id: string) => must(await client.get(`/api-keys/${id}`), 200).usageCount as number;
  const goesOn = ({ responses }: ReturnType<typeof traffic>) =>
    eventually(() => expect(responses.slice(-20).every(({ status }) => status === 200)).toBe(true), {
      timeoutMs: 180_000,
    });

  it('get 200 or 503 while Redis restarts, and every use is counted', async () => {
    const { id, key } = await createApiKey(client, orgId, { rateLimit: 100_000 });
    const running = traffic(key);
    await eventually(() => expect(running.responses.length).toBeGreaterThan(50));
    await signalStore('redis', 'SIGKILL');
    await sleep(1_500);
    await goesOn(running);
    const responses = await running.stop();
    expect(statuses(responses).filter((status) => status !== 503)).toEqual([200]);
    const accepted = responses.filter(({ status }) => status === 200);
    expect(accepted.every((response) => rateOf(response)[0] === 100_000)).toBe(true);
    for (const { headers } of responses.filter(({ status }) => status === 503)) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    await eventually(async () => expect(await usageOf(id)).toBe(accepted.length), POLLING);
  });

  it('count every use although credentials is killed meanwhile', async () => {
    const { id, key } = await createApiKey(client, orgId, { rateLimit: 100_000 });
    const running = traffic(key);
    await eventually(() => expect(running.responses.length).toBeGreaterThan(50));
    await killService('credentials');
    await sleep(1_500);
    await goesOn(running);
    const responses = await running.stop();
    expect(statuses(responses)).toEqual([200]);
    await eventually(async () => expect(await usageOf(id)).toBe(responses.length), POLLING);
  });

  it('that are revoked while NATS is unavailable are rejected once it is back', async () => {
    const [revoked, kept] = [await createApiKey(client, orgId), await createApiKey(client, orgId)];
    for (const { key } of [revoked, kept]) must(await machine(fleet, key).get(fields), 200);
    await signalStore('nats', 'SIGKILL');
    // 503 where the caller has to be resolved again at that moment; the client repeats the request.
    await eventually(async () => must(await client.delete(`/api-keys/${revoked.id}`), 200));
    await untilReady();
    await eventually(async () => expect((await machine(fleet, revoked.key).get(fields)).status).toBe(401), {
      timeoutMs: 180_000,
    });
    await eventually(async () => expect((await machine(fleet, kept.key).get(fields)).status).toBe(200), {
      timeoutMs: 180_000,
    });
  });

  it('get 503 from replicas without an invalidation feed for 30 seconds', async () => {
    const { id, key } = await createApiKey(client, orgId);
    must(await machine(fleet, key).get(fields), 200);
    await signalStore('nats', 'SIGSTOP');
    try {
      await sleep(CUT_OFF_MS);
      const response = await machine(fleet, key).get(fields);
      expect([response.status, response.body.code]).toEqual([503, 'service_unavailable']);
    } finally {
      await signalStore('nats', 'SIGCONT');
    }
    await eventually(async () => expect((await machine(fleet, key).get(fields)).status).toBe(200), {
      timeoutMs: 180_000,
    });
    // The replicas of credentials receive the feed again a moment after those of provisioning.
    await eventually(
      async () => {
        const reads = Array.from({ length: 10 }, () => client.get(`/api-keys/${id}`));
        expect(statuses(await Promise.all(reads))).toEqual([200]);
      },
      { timeoutMs: 180_000 },
    );
    // Each request calls credentials, which calls identity: none may be lost to connections from before the outage.
    const fresh = await Promise.all(Array.from({ length: 20 }, () => createApiKey(client, orgId)));
    const responses = await Promise.all(fresh.map((created) => machine(fleet, created.key).get(fields)));
    expect(statuses(responses)).toEqual([200]);
  });
});
