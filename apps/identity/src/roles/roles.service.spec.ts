import { WorkerDatabase } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  type TestResponse,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, signInAdmin, type TestUser } from '../../test/users.js';
import { RolesRepository } from './roles.repository.js';

const pair = (resource: string, action: string) => ({ resource, action });
const UNKNOWN = '7d9f2c1e-0000-4000-8000-000000000000';

describe('roles', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let owner: TestUser;
  let stranger: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    owner = await registerPartner(identity);
    stranger = await registerPartner(identity, 'Other MSP');
  }, 120_000);
  afterAll(() => testApp.stop());

  const create = async (body: object, bearer = owner.bearer): Promise<TestResponse['body']> =>
    expectStatus(await identity.post('/roles', { name: 'Helpdesk', ...body }, { bearer }), 201).body;
  /** A member whose role gives exactly these pairs. */
  const memberWith = async (...permissions: { resource: string; action: string }[]) => {
    const role = await create({ name: 'Member', permissions });
    return inviteAndAccept(identity, owner.bearer, { roleId: role.id, orgAccess: 'all' });
  };

  it('are created with their own permissions and returned completely', async () => {
    const parent = await create({ name: 'Parent', permissions: [pair('devices', 'read')] });
    const role = await create({
      name: '  Helpdesk  ',
      description: 'First line',
      parentRoleId: parent.id,
      forceMfa: true,
      permissions: [pair('tickets', 'write'), pair('tickets', 'write'), pair('tickets', 'read')],
    });
    expect(role).toEqual({
      id: expect.any(String),
      name: 'Helpdesk',
      description: 'First line',
      scope: 'partner',
      isSystem: false,
      forceMfa: true,
      partnerId: owner.partnerId,
      orgId: null,
      parentRoleId: parent.id,
      parentRoleName: 'Parent',
      permissions: [pair('tickets', 'read'), pair('tickets', 'write')],
      userCount: 0,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await identity.get(`/roles/${role.id}`, owner)).body).toEqual(role);
    const list = await identity.get('/roles?limit=100', owner);
    const listed = (list.body.data as { id: string }[]).find(({ id }) => id === role.id);
    expect(listed).toBeDefined();
    expect(listed).not.toHaveProperty('permissions');
  });

  it('are changed and deleted for their entity tag only', async () => {
    const { id } = await create({ permissions: [pair('tickets', 'read')] });
    const path = `/roles/${id}`;
    const etag = (await identity.get(path, owner)).headers['etag'] ?? '';
    const ifMatch = (tag: string, { bearer } = owner) => ({ bearer, headers: { 'if-match': tag } });
    const read = await identity.get(path, { ...owner, headers: { 'if-none-match': etag } });
    expect(read.status).toBe(304);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => identity.patch(path, { description: `${n}` }, ifMatch(etag))),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    const current = responses.find(({ status }) => status === 200)?.headers['etag'] ?? '';
    expect((await identity.delete(path, ifMatch(etag))).body.code).toBe('precondition_failed');
    expect((await identity.delete(path, ifMatch(current, stranger))).status).toBe(404);
    expect((await identity.delete(path, ifMatch('x'))).body.code).toBe('invalid_if_match');
    expect((await identity.delete(path, ifMatch(current))).status).toBe(200);
  });

  it.each([
    ['no name', {}, 'name'],
    ['a name of spaces', { name: '   ' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(101) }, 'name'],
    ['an unknown pair', { name: 'R', permissions: [pair('tickets', 'read'), pair('tickets', 'fly')] }, 'permissions.1'],
    ['a pair in capitals', { name: 'R', permissions: [pair('Tickets', 'read')] }, 'permissions.0'],
    ['a field of the record', { name: 'R', isSystem: true }, 'isSystem'],
    ['the owner', { name: 'R', scope: 'system' }, 'scope'],
    ['a parent that is no id', { name: 'R', parentRoleId: 'x' }, 'parentRoleId'],
  ])('are refused with %s', async (_, body, path) => {
    const response = await identity.post('/roles', body, owner);
    expect(response).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(Object.keys(response.body.details.fieldErrors as object)).toContain(path);
  });

  it('need users:write, users:delete and users:read', async () => {
    const reader = await memberWith(pair('users', 'read'));
    const role = await create({});
    const writes = [
      identity.post('/roles', { name: 'R' }, reader),
      identity.patch(`/roles/${role.id}`, { name: 'R' }, reader),
      identity.post(`/roles/${role.id}/clone`, { name: 'R' }, reader),
      identity.delete(`/roles/${role.id}`, reader),
    ];
    for (const response of await Promise.all(writes)) expect(response.body.code).toBe('permission_denied');
    const unprivileged = await memberWith(pair('devices', 'read'));
    for (const path of ['/roles', `/roles/${role.id}`, `/roles/${role.id}/users`, '/roles/permissions/available']) {
      expect((await identity.get(path, unprivileged)).body).toMatchObject({ code: 'permission_denied' });
    }
    expect((await identity.get('/permissions/catalog', unprivileged)).status).toBe(200);
  });

  it('are closed to partner members with selected organizations', async () => {
    const role = await create({ name: 'Full', permissions: [pair('users', 'read'), pair('users', 'write')] });
    const limited = await inviteAndAccept(identity, owner.bearer, { roleId: role.id, orgAccess: 'none' });
    const responses = [
      await identity.get('/roles', limited),
      await identity.post('/roles', { name: 'R', permissions: [] }, limited),
    ];
    for (const { status, body } of responses)
      expect([status, body.code]).toEqual([403, 'full_partner_access_required']);
  });

  it('of another partner return 404', async () => {
    const role = await create({});
    const unknown = await identity.get(`/roles/${UNKNOWN}`, stranger);
    for (const call of [
      identity.get(`/roles/${role.id}`, stranger),
      identity.patch(`/roles/${role.id}`, { name: 'Mine' }, stranger),
      identity.delete(`/roles/${role.id}`, stranger),
      identity.post(`/roles/${role.id}/clone`, { name: 'Mine' }, stranger),
      identity.get(`/roles/${role.id}/users`, stranger),
      identity.get(`/roles/${role.id}/effective-permissions`, stranger),
      identity.get('/roles/no-uuid', stranger),
    ]) {
      const { status, body } = await call;
      expect([status, body.code, body.error]).toEqual([404, 'not_found', unknown.body.error]);
    }
    const child = await identity.post('/roles', { name: 'Child', parentRoleId: role.id }, stranger);
    expect([child.status, child.body.code]).toEqual([400, 'invalid_parent_role']);
  });

  it('that are seeded can be cloned, but not changed or deleted', async () => {
    for (const name of ['Partner Viewer', 'Partner Admin']) {
      const seeded = await roleId(identity, owner.bearer, name);
      const patched = await identity.patch(`/roles/${seeded}`, { name: 'Mine' }, owner);
      expect(patched.body).toMatchObject({ code: 'system_role_immutable', error: 'Cannot modify system roles' });
      const deleted = await identity.delete(`/roles/${seeded}`, owner);
      expect(deleted.body).toMatchObject({ code: 'system_role_immutable', error: 'Cannot delete system roles' });
      const source = (await identity.get(`/roles/${seeded}`, owner)).body;
      const clone = await identity.post(`/roles/${seeded}/clone`, { name: 'Ours' }, owner);
      expect(expectStatus(clone, 201).body).toMatchObject({
        name: 'Ours',
        isSystem: false,
        forceMfa: source.forceMfa,
        partnerId: owner.partnerId,
        permissions: source.permissions,
        description: expect.stringContaining(name),
      });
    }
  });

  it('inherit from the whole parent chain, in authorization and in responses', async () => {
    const top = await create({ name: 'Top', permissions: [pair('users', 'read'), pair('devices', 'read')] });
    const middle = await create({ name: 'Middle', parentRoleId: top.id, permissions: [pair('devices', 'read')] });
    const low = await create({ name: 'Low', parentRoleId: middle.id, permissions: [pair('alerts', 'read')] });
    const { body } = await identity.get(`/roles/${low.id}/effective-permissions`, owner);
    expect(body.inheritanceChain).toEqual([low, middle, top].map(({ id, name }) => ({ id, name })));
    expect(body.permissions).toEqual([
      { ...pair('alerts', 'read'), inherited: false, sourceRoleId: low.id, sourceRoleName: 'Low' },
      { ...pair('devices', 'read'), inherited: true, sourceRoleId: middle.id, sourceRoleName: 'Middle' },
      { ...pair('users', 'read'), inherited: true, sourceRoleId: top.id, sourceRoleName: 'Top' },
    ]);
    const member = await inviteAndAccept(identity, owner.bearer, { roleId: low.id, orgAccess: 'all' });
    expect((await identity.get('/users', member)).status).toBe(200);

    // The grandparent loses the pair: who holds the grandchild loses it with the response.
    const change = { permissions: [pair('devices', 'read')] };
    expectStatus(await identity.patch(`/roles/${top.id}`, change, owner), 200);
    expect((await identity.get('/users', member)).status).toBe(403);
    expectStatus(await identity.patch(`/roles/${middle.id}`, { permissions: [pair('users', 'read')] }, owner), 200);
    expect((await identity.get('/users', member)).status).toBe(200);
    const clone = await identity.post(`/roles/${low.id}/clone`, { name: 'Flat' }, owner);
    expect(clone.body.permissions).toEqual([pair('alerts', 'read'), pair('devices', 'read'), pair('users', 'read')]);
    expect((await identity.get(`/roles/${low.id}/users`, owner)).body.data).toEqual([
      expect.objectContaining({ id: member.userId, email: member.email, status: 'active' }),
    ]);
  });

  it('never grant permissions that their editor does not have', async () => {
    const lesser = await memberWith(pair('users', 'read'), pair('users', 'write'), pair('devices', 'read'));
    const admin = await roleId(identity, owner.bearer, 'Partner Admin');
    const technician = await roleId(identity, owner.bearer, 'Partner Technician');
    const strong = await create({ name: 'Strong', permissions: [pair('scripts', 'execute')] });
    const own = expectStatus(
      await identity.post('/roles', { name: 'Own', permissions: [pair('devices', 'read')] }, lesser),
      201,
    ).body;
    const attempts: Promise<TestResponse>[] = [
      identity.post('/roles', { name: 'R', permissions: [pair('scripts', 'read')] }, lesser),
      identity.post('/roles', { name: 'R', permissions: [pair('*', '*')] }, lesser),
      identity.post('/roles', { name: 'R', parentRoleId: strong.id }, lesser),
      identity.post('/roles', { name: 'R', parentRoleId: admin }, lesser),
      identity.post(`/roles/${technician}/clone`, { name: 'R' }, lesser),
      identity.post(`/roles/${admin}/clone`, { name: 'R' }, lesser),
      identity.patch(`/roles/${own.id}`, { permissions: [pair('scripts', 'execute')] }, lesser),
      identity.patch(`/roles/${own.id}`, { parentRoleId: strong.id }, lesser),
      identity.patch(`/roles/${strong.id}`, { permissions: [] }, lesser),
      identity.patch(`/roles/${strong.id}`, { forceMfa: true }, lesser),
      identity.post(`/users/${owner.userId}/role`, { roleId: own.id }, lesser),
    ];
    const responses = await Promise.all(attempts);
    expect(responses.map(({ status, body }) => [status, body.code])).toEqual(
      responses.map(() => [403, 'permission_not_delegable']),
    );
    const after = (await identity.get(`/roles/${own.id}`, owner)).body;
    expect(after.permissions).toEqual([pair('devices', 'read')]);
    // A name grants nothing.
    expect((await identity.patch(`/roles/${strong.id}`, { name: 'Stronger' }, lesser)).status).toBe(200);
  });

  it('are deleted only without users and child roles', async () => {
    const parent = await create({ name: 'Parent' });
    const child = await create({ name: 'Child', parentRoleId: parent.id, permissions: [pair('devices', 'read')] });
    await inviteAndAccept(identity, owner.bearer, { roleId: child.id, orgAccess: 'all' });
    const children = await identity.delete(`/roles/${parent.id}`, owner);
    expect(children).toMatchObject({ status: 400, body: { code: 'role_has_children', childRoleCount: 1 } });
    const users = await identity.delete(`/roles/${child.id}`, owner);
    expect(users).toMatchObject({ status: 400, body: { code: 'role_has_users', userCount: 1 } });
    const free = await create({ name: 'Free' });
    expect((await identity.delete(`/roles/${free.id}`, owner)).body).toEqual({ success: true });
    expect((await identity.delete(`/roles/${free.id}`, owner)).status).toBe(404);
  });

  it('change only in the fields that are sent', async () => {
    const parent = await create({ name: 'Parent' });
    const role = await create({ description: 'Old', parentRoleId: parent.id, permissions: [pair('devices', 'read')] });
    const nothing = await identity.patch(`/roles/${role.id}`, {}, owner);
    expect([nothing.status, nothing.body.code]).toEqual([400, 'validation_failed']);
    const renamed = expectStatus(await identity.patch(`/roles/${role.id}`, { name: 'New' }, owner), 200).body;
    expect(renamed).toMatchObject({ name: 'New', description: 'Old', parentRoleId: parent.id });
    const cleared = await identity.patch(`/roles/${role.id}`, { description: null, parentRoleId: null }, owner);
    expect(cleared.body).toMatchObject({ description: null, parentRoleId: null, parentRoleName: null });
    expect(cleared.body.permissions).toEqual([pair('devices', 'read')]);
    const nulled = await identity.patch(`/roles/${role.id}`, { name: null }, owner);
    expect(nulled.status).toBe(400);
  });

  it('are listed with the system roles first, then by name', async () => {
    const lister = await registerPartner(identity);
    for (const name of ['Zoe', 'Anna']) await create({ name }, lister.bearer);
    const { body } = expectStatus(await identity.get('/roles?limit=100', lister), 200);
    const roles = body.data as { name: string; isSystem: boolean }[];
    const system = roles.filter(({ isSystem }) => isSystem).map(({ name }) => name);
    expect(roles.map(({ name }) => name)).toEqual([...system, 'Anna', 'Zoe']);
    expect(system).toEqual([...system].sort());
    expect(system).toContain('Partner Admin');
  });

  it('number at most 500 of a partner, seeded ones apart', async () => {
    const { partnerId, bearer } = await registerPartner(identity);
    await testApp.query(
      `INSERT INTO role (partner_id, scope, name) SELECT $1, 'partner', 'Role ' || n FROM generate_series(1, 499) n`,
      [partnerId],
    );
    await create({ name: 'The last' }, bearer);
    const refused = await identity.post('/roles', { name: 'One more' }, { bearer });
    expect(refused).toMatchObject({ status: 409, body: { code: 'too_many_roles' } });
  });

  it('are kept while an invitation names them', async () => {
    const role = await create({ name: 'Offered' });
    const invite = { email: 'offered@users.test', name: 'Robin', roleId: role.id };
    const { id } = expectStatus(await identity.post('/users/invite', invite, owner), 201).body;
    const refused = await identity.delete(`/roles/${role.id}`, owner);
    expect(refused).toMatchObject({ status: 400, body: { code: 'role_has_users', userCount: 1 } });
    expectStatus(await identity.delete(`/users/invitations/${id}`, owner), 200);
    expectStatus(await identity.delete(`/roles/${role.id}`, owner), 200);
  });

  it('record granted and removed permissions in the audit trail', async () => {
    const role = await create({ name: 'Audited', permissions: [pair('devices', 'read')] });
    await identity.patch(`/roles/${role.id}`, { permissions: [pair('alerts', 'read')] }, owner);
    await identity.post(`/roles/${role.id}/clone`, { name: 'Clone' }, owner);
    await identity.delete(`/roles/${role.id}`, owner);
    await eventually(async () => {
      const { body } = await identity.get(`/audit-logs?resourceType=role&resourceId=${role.id}`, owner);
      const rows = body.data as { action: string; details: object; actorEmail: string; resourceName: string }[];
      expect(rows.map(({ action }) => action).sort()).toEqual(['role.create', 'role.delete', 'role.update']);
      const cloned = await identity.get('/audit-logs?action=role.clone', owner);
      expect(cloned.body.data[0]).toMatchObject({ resourceName: 'Clone', details: { sourceRoleId: role.id } });
      const update = rows.find(({ action }) => action === 'role.update');
      expect(update).toMatchObject({
        actorEmail: owner.email,
        resourceName: 'Audited',
        details: { added: ['alerts:read'], removed: ['devices:read'] },
      });
    });
  });

  it('list the catalog without wildcards', async () => {
    const { body } = await identity.get('/permissions/catalog', owner);
    expect(body.permissions).toEqual(expect.arrayContaining([expect.objectContaining(pair('users', 'invite'))]));
    expect(JSON.stringify(body.permissions)).not.toContain('*');
    expect(body.resourceLabels.users).toBe('Users and roles');
    expect(body.actionLabels.read).toBe('View');
    const available = (await identity.get('/roles/permissions/available', owner)).body;
    expect(available.resources).toContain('ticket_mailbox');
    expect(available.actions).toContain('cross_site_restore');
  });

  it('of a partner are managed by a platform administrator who names the partner', async () => {
    const bearer = await signInAdmin(identity);
    const unnamed = await identity.post('/roles', { name: 'R' }, { bearer });
    expect([unnamed.status, unnamed.body.code]).toEqual([403, 'context_required']);
    const created = await identity.post('/roles', { name: 'R', partnerId: owner.partnerId }, { bearer });
    expect(expectStatus(created, 201).body.partnerId).toBe(owner.partnerId);
    expect((await identity.get(`/roles/${created.body.id}`, { bearer })).status).toBe(200);
  });

  describe('that are changed concurrently', () => {
    let replicas: IdentityReplica[];

    beforeAll(async () => {
      replicas = [identity, await testApp.startReplica()];
    });

    const createRole = async (name: string, parentRoleId?: string): Promise<string> =>
      expectStatus(await identity.post('/roles', { name, parentRoleId }, owner), 201).body.id as string;
    const on = (i: number) => replicas[i % replicas.length] ?? identity;
    /** Repeats what is refused with 503, since a busy machine keeps some calls waiting for the lock for too long. */
    const setParent = async (i: number, role: string, parentRoleId: string): Promise<TestResponse> => {
      const response = await on(i).patch(`/roles/${role}`, { parentRoleId }, owner);
      return response.status === 503 ? setParent(i, role, parentRoleId) : response;
    };

    it('never inherit from each other in a circle', async () => {
      for (let round = 0; round < 3; round += 1) {
        const ring = await Promise.all(['A', 'B', 'C', 'D', 'E'].map((name) => createRole(name)));
        const at = (i: number) => ring[i % ring.length] ?? '';
        const calls = Array.from({ length: 20 }, (_, i) => setParent(i, at(i), at(i + 1)));
        const codes = (await Promise.all(calls)).map(({ status, body }) => (status === 200 ? 200 : body.code));
        // The link that would close the circle is refused to each of its four callers, the others are set.
        const refused = codes.flatMap((code, i) => (code === 200 ? [] : [`${code} ${i % ring.length}`]));
        expect([refused.length, new Set(refused).size]).toEqual([4, 1]);
        expect(refused[0]).toMatch(/^circular_inheritance /);
      }
      const own = await createRole('Own');
      expect((await setParent(0, own, own)).body).toMatchObject({
        code: 'circular_inheritance',
        error: 'Cannot set parent role: would create circular inheritance',
      });
    });

    it.each([
      ['demoted', 'UPDATE partner_membership SET role_id = $2 WHERE user_id = $1', 403, 'permission_denied'],
      ['removed', 'DELETE FROM partner_membership WHERE user_id = $1 AND role_id <> $2', 401, 'unauthenticated'],
    ])(
      'are not changed by a user who is %s while the change waits',
      async (_, change, status, code) => {
        const editor = await memberWith(pair('users', 'read'), pair('users', 'write'), pair('devices', 'read'));
        const viewer = await roleId(identity, owner.bearer, 'Partner Viewer');
        let release = () => undefined as void;
        const finished = new Promise<void>((resolve) => (release = resolve));
        let onLocked = () => undefined as void;
        const locked = new Promise<void>((resolve) => (onLocked = resolve));
        const transaction = identity.app.get(WorkerDatabase).transaction(async (tx) => {
          await identity.app.get(RolesRepository).lockForChange(tx, owner.partnerId);
          onLocked();
          await finished;
        });
        await locked;
        const created = identity.post('/roles', { name: 'Late', permissions: [pair('devices', 'read')] }, editor);
        const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`;
        await eventually(async () => expect(await testApp.query(waiting)).toHaveLength(1));
        await testApp.query(change, [editor.userId, viewer]);
        release();
        const [response] = await Promise.all([created, transaction]);
        expect([response.status, response.body.code]).toEqual([status, code]);
      },
      30_000,
    );

    it('never have more than ten parents in a row', async () => {
      const chain = [await createRole('1')];
      for (let i = 2; i <= 11; i += 1) chain.push(await createRole(String(i), chain[chain.length - 1]));
      const over = await identity.post('/roles', { name: '12', parentRoleId: chain[10] }, owner);
      expect([over.status, over.body.code]).toEqual([400, 'inheritance_too_deep']);
      // A new parent at the top would push the lowest over the limit.
      const top = await createRole('Top');
      const pushed = await setParent(0, chain[0] ?? '', top);
      expect([pushed.status, pushed.body.code]).toEqual([400, 'inheritance_too_deep']);
    });

    it('are not deleted while they are assigned', async () => {
      const fallback = await createRole('Fallback');
      const member = await inviteAndAccept(identity, owner.bearer, { roleId: fallback, orgAccess: 'all' });
      for (let round = 0; round < 5; round += 1) {
        const role = await createRole('Contested');
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
});
