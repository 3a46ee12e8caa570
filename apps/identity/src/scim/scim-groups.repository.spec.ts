import { randomUUID } from 'node:crypto';
import type { ScimCaller } from '@rmm/access';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { createScimCaller, createScimUser, ownedBy } from '../../test/scim-rows.js';
import { ScimGroupsRepository } from './scim-groups.repository.js';

describe('ScimGroupsRepository', () => {
  let database: IdentityTestDatabase;
  let repository: ScimGroupsRepository;
  let caller: ScimCaller;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new ScimGroupsRepository(database.tenants);
    caller = await createScimCaller(database);
  });
  afterAll(() => database.stop());

  const create = (displayName: string, of = caller) =>
    database.insert('scim_group', { display_name: displayName, ...ownedBy(of) });
  const add = (groupId: string, ids: string[]) =>
    database.worker.transaction(async (tx) =>
      repository.addMembers(tx, await repository.lock(tx, caller, groupId), ids),
    );

  it('adds users of the same provider once, and counts those that exist', async () => {
    const group = await create('Staff');
    const user = await createScimUser(database, caller);
    const stranger = await createScimUser(database, await createScimCaller(database, caller.partnerId, caller.orgId));
    expect(await add(group, [user, stranger, randomUUID()])).toBe(1);
    expect(await add(group, [user])).toBe(1);
    expect(await repository.listMemberIds(database.worker, group)).toEqual([user]);
    await database.worker.transaction((tx) => repository.removeMembers(tx, group, [user, stranger]));
    expect(await repository.listMemberIds(database.worker, group)).toEqual([]);
  });

  it('lists members group after group, up to a limit', async () => {
    const groups = [await create('B'), await create('A')];
    const users = [await createScimUser(database, caller), await createScimUser(database, caller)].sort();
    for (const group of groups) await add(group, users);
    const listed = async (limit: number) =>
      (await repository.listMembers(caller, groups, limit)).map(({ groupId, id }) => [groupId, id]);
    const all = groups.flatMap((group) => users.map((user) => [group, user]));
    expect(await listed(10)).toEqual(all);
    expect(await listed(3)).toEqual(all.slice(0, 3));
    expect(await repository.listNamesOf(database.worker, users[0])).toEqual(['A', 'B']);
  });

  it('shows no group of another provider or organization', async () => {
    const group = await create('Own');
    const sibling = await createScimCaller(database, caller.partnerId, caller.orgId);
    const stranger = await createScimCaller(database);
    await expect(repository.get(sibling, sibling, group)).rejects.toMatchObject({ error: 'Group not found' });
    await expect(repository.get(stranger, caller, group)).rejects.toMatchObject({ error: 'Group not found' });
    expect(await repository.list(sibling, [], { offset: 0, limit: 10 })).toEqual({ rows: [], total: 0 });
    const named = [{ attribute: 'displayName', value: 'OWN' }] as const;
    expect(await repository.list(caller, named, { offset: 0, limit: 10 })).toMatchObject({
      total: 1,
      rows: [{ id: group }],
    });
  });
});
