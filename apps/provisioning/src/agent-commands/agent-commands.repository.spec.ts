import { randomUUID } from 'node:crypto';
import { organizationCaller, partnerCaller, ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { AgentCommandsRepository } from './agent-commands.repository.js';

describe('AgentCommandsRepository', () => {
  let database: ProvisioningTestDatabase;
  let commands: AgentCommandsRepository;
  let partnerId: string;
  let orgId: string;
  let deviceId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    commands = new AgentCommandsRepository(database.tenants, database.worker);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
    deviceId = await database.createDevice(partnerId, orgId);
  });

  const add = async (lifetimeSeconds = 300, id = randomUUID()) => {
    await database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      commands.add(
        tx,
        { deviceId, orgId, partnerId },
        { id, type: 'dev_push', payloadSealed: `sealed ${id}`, lifetimeSeconds },
      ),
    );
    return id;
  };
  const take = async (caller = organizationCaller(partnerId, orgId)) =>
    (await database.tenants.transaction(caller, (tx) => commands.takeWaiting(tx, deviceId))).map(({ id }) => id);
  const isMarked = async () =>
    (await database.admin.query('SELECT has_commands FROM device_state WHERE device_id = $1', [deviceId])).rows[0]
      .has_commands as boolean;

  it('marks the device with a command, and returns the commands oldest first and once', async () => {
    expect(await isMarked()).toBe(false);
    const ids = [await add(), await add()];
    const older = `UPDATE agent_command SET created_at = created_at - interval '1 s' WHERE id = $1`;
    await database.admin.query(older, [ids[0]]);
    expect(await isMarked()).toBe(true);
    const taken = await database.tenants.transaction(organizationCaller(partnerId, orgId), (tx) =>
      commands.takeWaiting(tx, deviceId),
    );
    expect(taken).toEqual(ids.map((id) => ({ id, type: 'dev_push', payloadSealed: `sealed ${id}` })));
    expect(await isMarked()).toBe(false);
    expect(await take()).toEqual([]);
  });

  it('returns no command that has expired and none of another tenant', async () => {
    const id = await add(-1);
    expect(await take()).toEqual([]);
    const other = await add();
    expect(await take(partnerCaller(randomUUID()))).toEqual([]);
    expect(await take(organizationCaller(partnerId, randomUUID()))).toEqual([]);
    expect(await take()).toEqual([other]);
    expect(other).not.toBe(id);
  });

  it('gives a command to one of two parallel heartbeats', async () => {
    const id = await add();
    expect((await Promise.all([take(), take(), take()])).flat()).toEqual([id]);
  });

  it('delivers a command that is added while the waiting ones are taken', async () => {
    await add();
    let confirm = () => undefined as void;
    const areTaken = new Promise<void>((resolve) => (confirm = resolve));
    let commit = () => undefined as void;
    const mayCommit = new Promise<void>((resolve) => (commit = resolve));
    const taking = database.tenants.transaction(organizationCaller(partnerId, orgId), async (tx) => {
      await commands.takeWaiting(tx, deviceId);
      confirm();
      await mayCommit;
    });
    await areTaken;
    const late = add(); // waits for the row of the state
    commit();
    await taking;
    const id = await late;
    expect(await isMarked()).toBe(true);
    expect(await take()).toEqual([id]);
  });

  it('adds no command to a device of another organization', async () => {
    const target = { deviceId, orgId: await database.createOrganization(partnerId), partnerId };
    const command = { id: randomUUID(), type: 'dev_push' as const, payloadSealed: 'x', lifetimeSeconds: 300 };
    const adding = database.tenants.transaction(partnerCaller(partnerId), (tx) => commands.add(tx, target, command));
    await expect(adding).rejects.toMatchObject({ code: '23503' });
  });

  it('deletes the commands that ended some hours ago, a limited number at a time', async () => {
    await database.admin.query('DELETE FROM agent_command');
    await add(-25 * 3_600);
    await add(-26 * 3_600);
    const kept = [await add(-3_600), await add()];
    expect([await commands.purge(24, 1), await commands.purge(24, 5), await commands.purge(24, 5)]).toEqual([1, 1, 0]);
    const { rows } = await database.admin.query('SELECT id FROM agent_command');
    expect(rows.map(({ id }) => id as string).sort()).toEqual(kept.toSorted());
  });
});
