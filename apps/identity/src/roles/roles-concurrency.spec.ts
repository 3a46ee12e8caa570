import {
  expectStatus,
  IdentityTestApp,
  type TestResponse,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, type TestUser } from '../../test/users.js';

describe('roles that are changed concurrently', () => {
  let testApp: IdentityTestApp;
  let replicas: IdentityReplica[];
  let identity: IdentityReplica;
  let owner: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    replicas = [identity, await testApp.startReplica()];
    owner = await registerPartner(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const create = async (name: string, parentRoleId?: string): Promise<string> =>
    expectStatus(await identity.post('/roles', { name, parentRoleId }, owner), 201).body.id as string;
  const on = (i: number) => replicas[i % replicas.length] ?? identity;
  const setParent = (i: number, role: string, parentRoleId: string): Promise<TestResponse> =>
    on(i).patch(`/roles/${role}`, { parentRoleId }, owner);

  it('never inherit from each other in a circle', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [a, b, c] = await Promise.all([create('A'), create('B'), create('C')]);
      const responses = await Promise.all([setParent(0, a, b), setParent(1, b, c), setParent(2, c, a)]);
      const codes = responses.map(({ status, body }) => (status === 200 ? 200 : body.code)).sort();
      expect(codes).toEqual([200, 200, 'circular_inheritance']);
    }
    const own = await create('Own');
    expect((await setParent(0, own, own)).body).toMatchObject({
      code: 'circular_inheritance',
      error: 'Cannot set parent role: would create circular inheritance',
    });
  });

  it('never have more than ten parents in a row', async () => {
    const chain = [await create('1')];
    for (let i = 2; i <= 11; i += 1) chain.push(await create(String(i), chain[chain.length - 1]));
    const over = await identity.post('/roles', { name: '12', parentRoleId: chain[10] }, owner);
    expect([over.status, over.body.code]).toEqual([400, 'inheritance_too_deep']);
    // A new parent at the top would push the lowest over the limit.
    const top = await create('Top');
    const pushed = await setParent(0, chain[0] ?? '', top);
    expect([pushed.status, pushed.body.code]).toEqual([400, 'inheritance_too_deep']);
  });

  it('are not deleted while they are assigned', async () => {
    const fallback = await create('Fallback');
    const member = await inviteAndAccept(identity, owner.bearer, { roleId: fallback, orgAccess: 'all' });
    for (let round = 0; round < 5; round += 1) {
      const role = await create('Contested');
      const [deleted, assigned] = await Promise.all([
        on(0).delete(`/roles/${role}`, owner),
        on(1).post(`/users/${member.userId}/role`, { roleId: role }, owner),
      ]);
      const codes = [deleted, assigned].map(({ status, body }) => (status === 200 ? 200 : body.code));
      expect([
        [200, 'invalid_role_scope'],
        ['role_has_users', 200],
      ]).toContainEqual(codes);
    }
  });
});
