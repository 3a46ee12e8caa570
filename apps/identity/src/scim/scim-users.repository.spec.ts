import { randomUUID } from 'node:crypto';
import type { ScimCaller } from '@rmm/access';
import { isUniqueViolation, type WorkerTransaction } from '@rmm/persistence';
import { countReads, explainStatements } from '@rmm/persistence/testing';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { createScimCaller, createScimUser } from '../../test/scim-rows.js';
import type { SsoProvider } from '../sso/sso-provider.entity.js';
import { ScimUsersRepository } from './scim-users.repository.js';

describe('ScimUsersRepository', () => {
  let database: IdentityTestDatabase;
  let repository: ScimUsersRepository;
  let caller: ScimCaller;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new ScimUsersRepository(database.tenants);
    caller = await createScimCaller(database);
  });
  afterAll(() => database.stop());

  it('lists the users of one provider, oldest first, and none of another one in the same organization', async () => {
    const ids = [await createScimUser(database, caller), await createScimUser(database, caller)];
    const sibling = await createScimCaller(database, caller.partnerId, caller.orgId);
    await createScimUser(database, sibling);
    const page = (offset: number, limit: number) => repository.list(caller, [], { offset, limit });
    expect((await page(0, 10)).rows.map(({ id }) => id)).toEqual(ids);
    expect(await page(1, 1)).toMatchObject({ total: 2, rows: [{ id: ids[1], keptRoleId: null, active: true }] });
    expect(await page(0, 0)).toMatchObject({ total: 2, rows: [] });
    await expect(repository.get(sibling, sibling, ids[0])).rejects.toMatchObject({ error: 'User not found' });
    // Row-level security refuses what the statement would ask for.
    const stranger = await createScimCaller(database);
    await expect(repository.get(stranger, caller, ids[0])).rejects.toMatchObject({ error: 'User not found' });
    expect((await repository.list({ ...caller, tenant: stranger.tenant }, [], { offset: 0, limit: 10 })).total).toBe(0);
  });

  it('lets no service login write', async () => {
    const id = await createScimUser(database, caller);
    const write = (sql: string) => database.tenants.transaction(caller, (tx) => tx.query(sql, { id }));
    await expect(write('DELETE FROM scim_user WHERE id = :id')).rejects.toMatchObject({ code: '42501' });
    await expect(write('UPDATE scim_user SET active = TRUE WHERE id = :id')).rejects.toMatchObject({ code: '42501' });
  });

  it('names the value that another user has', async () => {
    const own = await createScimCaller(database);
    const change = async (values: object) => {
      const id = await createScimUser(database, own);
      return database.worker.transaction((tx) => repository.change(tx, id, values)).catch((error: unknown) => error);
    };
    await createScimUser(database, own, { user_name: 'Ann', external_id: 'x' });
    expect(isUniqueViolation(await change({ userName: 'ANN' }), 'scim_user_name_key')).toBe(true);
    expect(isUniqueViolation(await change({ externalId: 'x' }), 'scim_user_external_key')).toBe(true);
    expect(await change({ externalId: 'X' })).toMatchObject({ externalId: 'X' });
  });

  describe('users of older settings', () => {
    let own: ScimCaller;
    let ids: string[];

    beforeEach(async () => {
      own = await createScimCaller(database);
      ids = [await createScimUser(database, own), await createScimUser(database, own)].sort();
    });

    const setVersion = (version: number) =>
      database.query('UPDATE sso_provider SET config_version = $2 WHERE id = $1', [own.providerId, version]);
    const lockAll = async (tx: WorkerTransaction) => {
      const provider = { id: own.providerId, configVersion: 2 } as SsoProvider;
      return (await repository.lockOutdated(tx, provider, 1_000)).map(({ id }) => id).sort();
    };

    it('are found by their provider', async () => {
      const isListed = async () => (await repository.listOutdatedProviders(database.worker)).includes(own.providerId);
      expect(await isListed()).toBe(false);
      await database.worker.transaction((tx) => repository.outdate(tx, own, [ids[1]]));
      expect(await isListed()).toBe(true);
      await database.query('UPDATE scim_user SET settings_version = 1 WHERE id = $1', [ids[1]]);
      expect(await isListed()).toBe(false);
      await setVersion(2);
      expect(await isListed()).toBe(true);
    });

    it('are locked, each for one of two transactions', async () => {
      await database.worker.transaction(async (first) => {
        expect(await lockAll(first)).toEqual(ids);
        const free = await database.query('SELECT FROM scim_user WHERE id = ANY ($1) FOR UPDATE SKIP LOCKED', [ids]);
        expect(free).toHaveLength(0);
      });
      await database.query('UPDATE scim_user SET settings_version = 2 WHERE id = $1', [ids[0]]);
      expect(await database.worker.transaction(lockAll)).toEqual([ids[1]]);
    });

    it('are found without reading those of present settings, also when no statistics are there yet', async () => {
      await database.query(
        `WITH account AS (
           INSERT INTO user_account (email, name)
           SELECT 'many-' || n || '-' || $1 || '@users.test', 'Many' FROM generate_series(1, 3000) n RETURNING id, email
         )
         INSERT INTO scim_user (partner_id, org_id, provider_id, user_id, user_name, email, active, owns_account, settings_version)
         SELECT $2, $3, $1::uuid, id, email, email, TRUE, TRUE, 1 FROM account`,
        [own.providerId, own.partnerId, own.orgId],
      );
      await database.worker.transaction(async (tx) => {
        const { explaining, plans } = explainStatements(tx);
        expect(await repository.listOutdatedProviders(explaining)).not.toContain(own.providerId);
        expect(countReads(plans[0])).toBeLessThan(100);
      });
    });
  });

  it.each([
    ['an account without another use', {}, true],
    ['an account with a password', { password_hash: 'x' }, false],
    ['a platform administrator', { is_platform_admin: true }, false],
  ])('changes name and address of %s: %s', async (_, values, expected) => {
    const userId = await database.createUser(values);
    const email = `new-${randomUUID()}@users.test`;
    const change = { name: 'New', email };
    const stored = await database.worker.transaction((tx) =>
      repository.changeOwnAccount(tx, { userId, orgId: caller.orgId }, change),
    );
    expect(stored).toBe(expected);
    const [row] = await database.query<{ email: string }>('SELECT email FROM user_account WHERE id = $1', [userId]);
    expect(row.email === email).toBe(expected);
  });
});
