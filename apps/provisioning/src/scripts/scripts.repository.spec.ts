import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { ScriptsRepository, type ScriptFields } from './scripts.repository.js';

const FIELDS: ScriptFields = {
  name: 'Disk space',
  description: null,
  category: null,
  osTypes: ['linux'],
  language: 'bash',
  content: 'df -h',
  parameters: null,
  runAs: 'system',
  timeoutSeconds: 300,
  exitCodeSeverityMapping: null,
  tags: [],
};

describe('ScriptsRepository', () => {
  let database: ProvisioningTestDatabase;
  let scripts: ScriptsRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    scripts = new ScriptsRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    partnerId = randomUUID();
    orgId = await database.createOrganization(partnerId);
  });

  const create = (owner: string | null, changes: Partial<ScriptFields> = {}) =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      scripts.create(tx, { id: randomUUID(), partnerId, orgId: owner, userId: null }, { ...FIELDS, ...changes }),
    );
  const inTransaction = <T>(work: Parameters<typeof database.tenants.transaction<T>>[1]) =>
    database.tenants.transaction(partnerCaller(partnerId), work);

  it('shows scripts of the partner to its organizations, which cannot change or delete them', async () => {
    const [wide, own] = [await create(null), await create(orgId, { name: 'Own' })];
    await database.admin.query(`UPDATE script SET created_at = created_at - interval '1 s' WHERE id = $1`, [wide.id]);
    const other = await create(await database.createOrganization(partnerId), { name: 'Other' });
    const member = organizationCaller(partnerId, orgId);
    const page = await scripts.list(member, {}, { page: 1, limit: 50 });
    expect(page.rows.map(({ id }) => id)).toEqual([own.id, wide.id]);
    expect(page.rows[0]?.content).toBeUndefined();
    expect((await scripts.get(member, wide.id)).content).toBe('df -h');
    await expect(scripts.get(member, other.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(scripts.get(partnerCaller(randomUUID()), wide.id)).rejects.toBeInstanceOf(NotFoundError);
    const change = (id: string) =>
      database.tenants.transaction(member, (tx) => scripts.change(tx, id, { name: 'Mine' }));
    await expect(change(wide.id)).rejects.toBeInstanceOf(NotFoundError);
    expect(await change(own.id)).toMatchObject({ name: 'Mine', nameKey: 'mine', version: 1 });
    await database.tenants.transaction(member, (tx) => scripts.remove(tx, wide.id));
    expect((await scripts.get(member, wide.id)).id).toBe(wide.id);
    await inTransaction((tx) => scripts.remove(tx, wide.id));
    await expect(scripts.get(member, wide.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('refuses a second script with the name for one owner', async () => {
    await create(orgId);
    await expect(create(orgId, { name: 'DISK space' })).rejects.toMatchObject({
      driverError: { constraint: 'script_org_name_key' },
    });
    await create(null);
    await expect(create(null)).rejects.toMatchObject({ driverError: { constraint: 'script_partner_name_key' } });
  });

  it('finds the names that a script of an owner clashes with', async () => {
    const own = await create(orgId);
    await create(null, { name: 'Wide' });
    await create(await database.createOrganization(partnerId), { name: 'Other' });
    await inTransaction(async (tx) => {
      const owner = { partnerId, orgId };
      expect(await scripts.isNameTaken(tx, owner, 'disk SPACE')).toBe(true);
      expect(await scripts.isNameTaken(tx, owner, 'disk SPACE', own.id)).toBe(false);
      expect(await scripts.isNameTaken(tx, owner, 'Wide')).toBe(true);
      expect(await scripts.isNameTaken(tx, owner, 'Other')).toBe(false);
      expect(await scripts.isNameTaken(tx, { partnerId, orgId: null }, 'Disk space')).toBe(false);
      expect((await scripts.listNames(tx, owner)).map(({ nameKey }) => nameKey).sort()).toEqual(['disk space', 'wide']);
      expect(await scripts.countOf(tx, owner)).toBe(1);
      expect(await scripts.countOf(tx, { partnerId, orgId: null })).toBe(1);
    });
  });

  it('finds the spelling of tags of one owner', async () => {
    await create(orgId, { tags: ['Daily', 'Disk'] });
    await create(null, { tags: ['WEEKLY'] });
    await inTransaction(async (tx) => {
      expect(await scripts.findTags(tx, { partnerId, orgId }, ['DAILY', 'weekly'])).toEqual(
        new Map([['daily', 'Daily']]),
      );
      expect(await scripts.findTags(tx, { partnerId, orgId: null }, ['weekly'])).toEqual(
        new Map([['weekly', 'WEEKLY']]),
      );
    });
  });

  it('measures and reads scripts by id, without those of other tenants and deleted organizations', async () => {
    const [wide, own] = [await create(null, { content: 'ä' }), await create(orgId, { name: 'Own' })];
    const caller = partnerCaller(partnerId);
    const ids = [own.id, wide.id, randomUUID()];
    expect(await scripts.measure(caller, ids)).toEqual(
      new Map([
        [own.id, 5],
        [wide.id, 2],
      ]),
    );
    expect((await scripts.findByIds(caller, ids)).get(own.id)?.content).toBe('df -h');
    expect(await scripts.measure(partnerCaller(randomUUID()), ids)).toEqual(new Map());
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [orgId]);
    expect([...(await scripts.measure(caller, ids)).keys()]).toEqual([wide.id]);
    await expect(scripts.getOwner(caller, own.id)).rejects.toBeInstanceOf(NotFoundError);
  });
});
