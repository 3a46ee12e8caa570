import { randomBytes, randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { AgentsRepository, type ReportedHeartbeat } from './agents.repository.js';

describe('AgentsRepository', () => {
  let database: ProvisioningTestDatabase;
  let agents: AgentsRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    agents = new AgentsRepository(database.worker);
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  }, 60_000);
  afterAll(() => database?.stop());

  const store = (deviceId: string, heartbeat: Partial<ReportedHeartbeat> = {}) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      agents.storeHeartbeat(tx, deviceId, { agentVersion: null, osVersion: null, metrics: null, ...heartbeat }),
    );

  it('finds an agent by its token unless the device is decommissioned', async () => {
    const [active, ended] = [randomBytes(32), randomBytes(32)];
    const deviceId = await database.createDevice(partnerId, orgId, { agent_token_hash: active });
    await database.createDevice(partnerId, orgId, { agent_token_hash: ended, status: 'decommissioned' });
    expect(await agents.findByTokenHash(active)).toMatchObject({ deviceId, orgId, partnerId, siteId: null });
    expect(await agents.findByTokenHash(ended)).toBeNull();
    expect(await agents.findByTokenHash(randomBytes(32))).toBeNull();
  });

  it('reports the changes of a heartbeat and raises the version with each', async () => {
    const id = await database.createDevice(partnerId, orgId, { status: 'offline', agent_version: '1.0' });
    const first = await store(id, { agentVersion: '1.1', metrics: '{"cpu":3}' });
    expect(first).toMatchObject({ cameOnline: true, hasNewAgentVersion: true, agentVersion: '1.1', version: '3' });
    const second = await store(id, { agentVersion: '1.1' });
    expect(second).toMatchObject({ cameOnline: false, hasNewAgentVersion: false, version: '3' });
    const { rows } = await database.admin.query('SELECT status, metrics FROM device WHERE id = $1', [id]);
    expect(rows).toEqual([{ status: 'online', metrics: { cpu: 3 } }]);
  });

  it('throws NotFoundError for a decommissioned device', async () => {
    const id = await database.createDevice(partnerId, orgId, { status: 'decommissioned' });
    await expect(store(id)).rejects.toThrow(NotFoundError);
  });
});
