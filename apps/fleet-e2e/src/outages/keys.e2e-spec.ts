import {
  eventually,
  connectToFleet,
  createOrganization,
  partnerWithMfa,
  type ApiResponse,
  type ApiClient,
} from '@rmm/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { enrollDevice, machine, makeApiKey, rateOf } from '../credentials/machines.js';
import { must } from '../steps.js';
import { killService, signalStore, untilReady } from './killing.js';

jest.setTimeout(120_000);

/** Nothing cached is trusted after half a minute without the feed. */
const CUT_OFF_MS = 31_000;

describe('API keys while the ground shakes', () => {
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

  /** Asks with a key from several sides until stopped, and keeps every answer. */
  function traffic(key: string) {
    const answers: ApiResponse[] = [];
    let isOver = false;
    const side = async () => {
      const asking = machine(fleet, key);
      while (!isOver) {
        // the edge answers for a service that has just died
        answers.push(await asking.get(fields));
        await sleep(5);
      }
    };
    const sides = Promise.all(Array.from({ length: 6 }, side));
    return {
      answers,
      since: (from: number) => answers.slice(from),
      stop: async () => {
        isOver = true;
        await sides;
        return answers;
      },
    };
  }

  const statuses = (answers: readonly ApiResponse[]) => [...new Set(answers.map(({ status }) => status))].sort();
  const usageOf = async (id: string) => must(await client.get(`/api-keys/${id}`), 200).usageCount as number;
  const goesOn = ({ answers }: ReturnType<typeof traffic>) =>
    eventually(() => expect(answers.slice(-20).every(({ status }) => status === 200)).toBe(true), {
      timeoutMs: 60_000,
    });

  it('are let in or told to come later while Redis restarts, and every use is counted', async () => {
    const { id, key } = await makeApiKey(client, orgId, { rateLimit: 100_000 });
    const running = traffic(key);
    await eventually(() => expect(running.answers.length).toBeGreaterThan(50));
    await signalStore('redis', 'SIGKILL');
    await sleep(1_500);
    await goesOn(running);
    const answers = await running.stop();
    expect(statuses(answers).filter((status) => status !== 503)).toEqual([200]);
    const admitted = answers.filter(({ status }) => status === 200);
    expect(admitted.every((answer) => rateOf(answer)[0] === 100_000)).toBe(true);
    for (const { headers } of answers.filter(({ status }) => status === 503)) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    await eventually(async () => expect(await usageOf(id)).toBe(admitted.length));
  });

  it('are counted to the last one though credentials dies meanwhile', async () => {
    const { id, key } = await makeApiKey(client, orgId, { rateLimit: 100_000 });
    const running = traffic(key);
    await eventually(() => expect(running.answers.length).toBeGreaterThan(50));
    await killService('credentials');
    await sleep(1_500);
    await goesOn(running);
    const answers = await running.stop();
    expect(statuses(answers)).toEqual([200]);
    await eventually(async () => expect(await usageOf(id)).toBe(answers.length), { timeoutMs: 30_000 });
  });

  it('that are revoked while NATS is away are dead once it is back', async () => {
    const [revoked, kept] = [await makeApiKey(client, orgId), await makeApiKey(client, orgId)];
    for (const { key } of [revoked, kept]) must(await machine(fleet, key).get(fields), 200);
    await signalStore('nats', 'SIGKILL');
    // 503 where something about the caller must be asked anew just then: to be repeated, as it says.
    await eventually(async () => must(await client.delete(`/api-keys/${revoked.id}`), 200), { timeoutMs: 30_000 });
    await untilReady();
    await eventually(async () => expect((await machine(fleet, revoked.key).get(fields)).status).toBe(401), {
      timeoutMs: 30_000,
    });
    await eventually(async () => expect((await machine(fleet, kept.key).get(fields)).status).toBe(200), {
      timeoutMs: 30_000,
    });
  });

  it('are refused rather than trusted by replicas that hear nothing for half a minute', async () => {
    const { key } = await makeApiKey(client, orgId);
    must(await machine(fleet, key).get(fields), 200);
    await signalStore('nats', 'SIGSTOP');
    try {
      await sleep(CUT_OFF_MS);
      const answer = await machine(fleet, key).get(fields);
      expect([answer.status, answer.body.code]).toEqual([503, 'service_unavailable']);
    } finally {
      await signalStore('nats', 'SIGCONT');
    }
    await eventually(async () => expect((await machine(fleet, key).get(fields)).status).toBe(200), {
      timeoutMs: 60_000,
    });
    // Each of these asks credentials, which asks identity: nothing on the way is lost to connections of before.
    const fresh = await Promise.all(Array.from({ length: 20 }, () => makeApiKey(client, orgId)));
    const answers = await Promise.all(fresh.map((made) => machine(fleet, made.key).get(fields)));
    expect(statuses(answers)).toEqual([200]);
  });
});
