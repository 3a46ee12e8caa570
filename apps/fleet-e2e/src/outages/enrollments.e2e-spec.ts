import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  freshAddress,
  partnerWithMfa,
} from '@rmm/testing';
import { enrollmentKey, must, readAll } from '../steps.js';
import { killService, untilReady } from './killing.js';

jest.setTimeout(600_000);

const AGENTS = 20;

describe('enrollments', () => {
  const fleet = connectToFleet();
  afterEach(() => untilReady());

  /** Repeats an enrollment as an agent does whose reply was lost. @returns the id of its device */
  const enroll = (body: object): Promise<string> =>
    eventually(
      async () => {
        const agent = Object.assign(new ApiClient(fleet.baseUrl), { address: freshAddress() });
        return must(await agent.post('/agents/enroll', body), 201).deviceId as string;
      },
      { timeoutMs: 180_000, everyMs: 200 },
    );

  it.each(['provisioning', 'credentials'])(
    'create one device for each agent and count one use for each although %s is killed meanwhile',
    async (service) => {
      const { client } = await partnerWithMfa(fleet);
      const { orgId } = await createOrganization(client);
      const key = await enrollmentKey(client, orgId, { maxUsage: AGENTS });
      const bodies = Array.from({ length: AGENTS }, (_, n) => ({
        ...buildEnrollment(key),
        hardwareInfo: { serialNumber: `SN-${n}` },
      }));
      const enrolled = Promise.all(bodies.map(enroll));
      await eventually(async () => {
        if ((await readAll(client, `/devices?orgId=${orgId}`)).length === 0) throw new Error('no device yet');
      });
      for (const replica of [0, 1]) await killService(service, replica);
      const deviceIds = await enrolled;
      await untilReady();
      const devices = await readAll<{ id: string }>(client, `/devices?orgId=${orgId}&limit=100`);
      expect(devices.map(({ id }) => id).sort()).toEqual([...deviceIds].sort());
      expect(new Set(deviceIds).size).toBe(AGENTS);
      await eventually(
        async () => {
          const [stored] = must(await client.get(`/enrollment-keys?orgId=${orgId}`), 200).data;
          expect(stored).toMatchObject({ usageCount: AGENTS, status: 'exhausted' });
        },
        { timeoutMs: 180_000, everyMs: 500 },
      );
      expect(await enroll(bodies[0] ?? {})).toBe(deviceIds[0]);
    },
  );
});
