import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { MAX_VERSIONS, ScriptVersionsRepository } from './script-versions.repository.js';
import { ScriptsRepository } from './scripts.repository.js';

describe('ScriptVersionsRepository', () => {
  let database: ProvisioningTestDatabase;
  let scripts: ScriptsRepository;
  let versions: ScriptVersionsRepository;
  const partnerId = randomUUID();
  const caller = partnerCaller(partnerId);
  const page = { page: 1, limit: 100 };
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    scripts = new ScriptsRepository(database.tenants, TEST_SECRETS);
    versions = new ScriptVersionsRepository(database.tenants);
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const create = async (owner: string | null) => {
    const fields = {
      name: randomUUID(),
      content: 'echo 1',
      parameters: { b: 1 },
      tags: ['x'],
      osTypes: ['linux' as const],
    };
    const others = { description: null, category: null, exitCodeSeverityMapping: null, timeoutSeconds: 9 };
    const script = { ...fields, ...others, language: 'bash' as const, runAs: 'user' as const };
    return database.tenants.transaction(caller, (tx) =>
      scripts.create(tx, { id: randomUUID(), partnerId, orgId: owner, userId: null }, script),
    );
  };
  const replace = (id: string, content: string) =>
    database.tenants.transaction(caller, async (tx) => {
      await versions.snapshot(tx, id);
      return scripts.changeDefinition(tx, id, randomUUID(), { content, definitionSha256: 'a'.repeat(64) });
    });

  it('keeps what a script was, for those who see the script', async () => {
    const { id } = await create(orgId);
    expect(await replace(id, 'echo 2')).toMatchObject({ version: 2, content: 'echo 2' });
    await replace(id, 'echo 3');
    const { rows, total } = await versions.list(caller, id, page);
    expect([rows.map(({ version }) => version), total]).toEqual([[2, 1], 2]);
    expect(rows[1]).toMatchObject({
      parameters: { b: 1 },
      tags: ['x'],
      runAs: 'user',
      timeoutSeconds: 9,
      createdBy: null,
    });
    expect(rows[0]?.content).toBeUndefined();
    expect(await versions.get(organizationCaller(partnerId, orgId), id, 1)).toMatchObject({ content: 'echo 1' });
    for (const stranger of [partnerCaller(randomUUID()), organizationCaller(partnerId, randomUUID())]) {
      expect((await versions.list(stranger, id, page)).rows).toEqual([]);
      await expect(versions.get(stranger, id, 1)).rejects.toBeInstanceOf(NotFoundError);
    }
    await database.tenants.transaction(caller, (tx) => scripts.remove(tx, id));
    expect((await versions.list(caller, id, page)).rows).toEqual([]);
  });

  it('deletes the oldest of many versions', async () => {
    const { id } = await create(null);
    for (let n = 0; n < MAX_VERSIONS + 3; n += 1) await replace(id, `echo ${n}`);
    const { rows } = await versions.list(caller, id, page);
    expect([rows.length, rows.at(0)?.version, rows.at(-1)?.version]).toEqual([MAX_VERSIONS, MAX_VERSIONS + 3, 4]);
  });

  it('refuses a version of another owner than that of its script', async () => {
    const { id } = await create(orgId);
    const columns = 'name, os_types, language, content, run_as, timeout_seconds, version, created_at';
    const insert = (partner: string, org: string | null) =>
      database.admin.query(
        `INSERT INTO script_version (id, script_id, partner_id, org_id, ${columns})
         VALUES (gen_random_uuid(), $1, $2, $3, 'x', '{linux}', 'bash', 'x', 'system', 1, 1, now())`,
        [id, partner, org],
      );
    const other = await database.createOrganization(partnerId);
    await expect(insert(partnerId, other)).rejects.toMatchObject({ code: '23503' });
    await expect(insert(randomUUID(), null)).rejects.toMatchObject({ code: '23503' });
  });
});
