import { randomUUID } from 'node:crypto';
import type { Logger } from '@rmm/service-kit';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { RestampExportsJob } from './restamp-exports.job.js';
import { RestampRepository } from './restamp.repository.js';

describe('RestampExportsJob', () => {
  let database: ProvisioningTestDatabase;
  let restamps: RestampRepository;
  let job: RestampExportsJob;
  let logged: unknown[];

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    restamps = new RestampRepository(database.worker);
  });
  afterAll(() => database?.stop());
  beforeEach(() => {
    logged = [];
    job = new RestampExportsJob(restamps, { error: (fields: unknown) => logged.push(fields) } as unknown as Logger);
  });
  afterEach(() => jest.restoreAllMocks());

  /** Makes an organization visible again, with `devices` records. */
  async function resumed(devices: number): Promise<string> {
    const partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    for (let n = 0; n < devices; n += 1) await database.createDevice(partnerId, orgId);
    for (const status of ['suspended', 'active']) {
      await database.admin.query('UPDATE organization SET status = $2 WHERE id = $1', [orgId, status]);
    }
    return orgId;
  }
  const waiting = async () => {
    const { rows } = await database.admin.query<{ org_id: string }>('SELECT org_id FROM export_restamp ORDER BY id');
    return rows.map(({ org_id }) => org_id);
  };

  it('stamps the records of other organizations while those of the oldest request are locked', async () => {
    const [oldest, other] = [await resumed(1), await resumed(1)];
    expect(await waiting()).toEqual([oldest, other]);
    const session = await database.admin.connect();
    try {
      await session.query('BEGIN');
      await session.query('SELECT FROM device WHERE org_id = $1 FOR UPDATE', [oldest]);
      await job.run();
      expect(await waiting()).toEqual([oldest]);
    } finally {
      await session.query('ROLLBACK');
      session.release();
    }
    await job.run();
    expect(await waiting()).toEqual([]);
  });

  it('goes on with other organizations when the records of one cannot be stamped', async () => {
    const [oldest] = [await resumed(1), await resumed(1)];
    const [failing] = await restamps.listRequests(1);
    const stampRecords = restamps.stampRecords.bind(restamps);
    jest
      .spyOn(restamps, 'stampRecords')
      .mockImplementation((id, limit) =>
        id === failing ? Promise.reject(new Error('unexpected')) : stampRecords(id, limit),
      );
    await job.run();
    expect(await waiting()).toEqual([oldest]);
    expect(logged).toMatchObject([{ requestId: failing }]);
    jest.restoreAllMocks();
    await job.run();
    expect(await waiting()).toEqual([]);
  });

  it('stamps a batch of each organization after the other', async () => {
    const [large, small] = [await resumed(3), await resumed(1)];
    const requests = await restamps.listRequests(2);
    const nameOf = (id: string) => (id === requests[0] ? large : small);
    const stamped: string[] = [];
    const stampRecords = restamps.stampRecords.bind(restamps);
    jest.spyOn(restamps, 'stampRecords').mockImplementation((id) => {
      stamped.push(nameOf(id));
      return stampRecords(id, 1);
    });
    await job.run();
    expect(stamped.slice(0, 4)).toEqual([large, small, large, small]);
    expect(await waiting()).toEqual([]);
  });

  it('stamps the records of an organization that is visible again during a run before those of a large one end', async () => {
    const large = await resumed(3);
    const waitingAtEach: string[][] = [];
    const stampRecords = restamps.stampRecords.bind(restamps);
    let late: string | undefined;
    jest.spyOn(restamps, 'stampRecords').mockImplementation(async (id) => {
      late ??= await resumed(1);
      const hasMore = await stampRecords(id, 1);
      waitingAtEach.push(await waiting());
      return hasMore;
    });
    await job.run();
    expect(waitingAtEach[0]).toEqual([large, late]);
    expect(waitingAtEach).toContainEqual([large]);
    expect(await waiting()).toEqual([]);
  });
});
