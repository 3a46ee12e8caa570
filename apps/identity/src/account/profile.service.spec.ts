import { eventually } from '@rmm/testing-services';
import { expectStatus, IdentityTestApp, PASSWORD, type IdentityReplica } from '../../test/identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, type TestUser } from '../../test/users.js';

describe("a user's own profile", () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let member: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    member = await registerPartner(identity);
  }, 120_000);
  afterAll(() => testApp.stop());

  const patch = (body: object, { bearer }: { bearer: string } = member) =>
    identity.patch('/users/me', body, { bearer });

  it('stores name and preferences, key by key, and returns the profile', async () => {
    const before = expectStatus(await identity.get('/users/me', member), 200).body;
    const first = expectStatus(
      await patch({ name: '  Pat Rowan ', preferences: { theme: 'dark', panes: { left: [1, 2] }, locale: 'de-AT' } }),
      200,
    );
    expect(first.body).toEqual({
      ...before,
      name: 'Pat Rowan',
      preferences: { theme: 'dark', panes: { left: [1, 2] }, locale: 'de-AT' },
    });
    const second = expectStatus(await patch({ preferences: { theme: null, density: 'compact', panes: 1 } }), 200);
    expect(second.body.preferences).toEqual({ density: 'compact', panes: 1, locale: 'de-AT' });
    expect(second.body.name).toBe('Pat Rowan');
    await eventually(async () => {
      const rows = await testApp.query<{ details: object }>(
        `select details from audit_entry where action = 'user.profile.update' and actor_id = $1 order by timestamp, sequence`,
        [member.userId],
      );
      expect(rows).toEqual([
        { details: { fields: ['name', 'preferences'] } },
        { details: { fields: ['preferences'] } },
      ]);
    });
  });

  it('keeps every key of concurrent changes', async () => {
    const keys = Array.from({ length: 8 }, (_, index) => `pane${index}`);
    await Promise.all(keys.map((key) => patch({ preferences: { [key]: true } }).then((a) => expectStatus(a, 200))));
    const { body } = await identity.get('/users/me', member);
    expect(Object.keys(body.preferences as object)).toEqual(expect.arrayContaining(keys));
  });

  it.each([
    [{ preferences: { theme: 'pink' } }, 'preferences.theme'],
    [{ preferences: { density: 1 } }, 'preferences.density'],
    [{ preferences: { timeFormat: '25h' } }, 'preferences.timeFormat'],
    [{ preferences: { locale: 'not a locale' } }, 'preferences.locale'],
    [{ preferences: { locale: 'e' } }, 'preferences.locale'],
    [{ preferences: { font: 'x;} body{display:none' } }, 'preferences.font'],
    [{ preferences: JSON.parse('{"__proto__":{"isAdmin":true}}') as object }, 'preferences.__proto__'],
    [{ preferences: { note: 'x'.repeat(70_000) } }, 'preferences'],
    [{ preferences: [] }, 'preferences'],
    [{ preferences: null }, 'preferences'],
    [{ name: '' }, 'name'],
    [{ name: 'a\nBcc: all@users.test' }, 'name'],
    [{ name: null }, 'name'],
    [{ email: 'no-address' }, 'email'],
    [{ avatarUrl: 'https://pictures.test/me.png' }, 'avatarUrl'],
    [{ name: 'Fine', status: 'active' }, 'status'],
    [{ roleId: '7d9f2c1e-0000-4000-8000-000000000000' }, 'roleId'],
    [{ mfaEnabled: false }, 'mfaEnabled'],
    [{ isPlatformAdmin: true }, 'isPlatformAdmin'],
    [{ emailVerifiedAt: null }, 'emailVerifiedAt'],
    [{ orgId: null }, 'orgId'],
    [JSON.parse('{"__proto__":{"isPlatformAdmin":true}}') as object, '__proto__'],
  ])('refuses %j', async (body, field) => {
    const refused = await patch(body);
    expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(Object.keys(refused.body.details.fieldErrors as object)).toContain(field);
  });

  it('refuses an avatarUrl with a hint, and an empty change', async () => {
    expect((await patch({ avatarUrl: null })).body.error).toContain('/users/me/avatar');
    for (const body of [{}, { currentPassword: PASSWORD }, { email: member.email }]) {
      expect(await patch(body)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    }
  });

  it('limits preferences to 64 KB in all', async () => {
    const other = await registerPartner(identity);
    expectStatus(await patch({ preferences: { a: 'x'.repeat(40_000) } }, other), 200);
    const tooMuch = await patch({ preferences: { b: 'x'.repeat(40_000) } }, other);
    expect(tooMuch.body.details.fieldErrors).toEqual({ preferences: ['must be at most 65536 bytes in all'] });
    expectStatus(await patch({ preferences: { a: null, b: 'x'.repeat(40_000) } }, other), 200);
  });

  it('needs a session and no permission', async () => {
    const viewer = await inviteAndAccept(identity, member.bearer, {
      roleId: await roleId(identity, member.bearer, 'Partner Viewer'),
      orgAccess: 'none',
    });
    expect(expectStatus(await patch({ name: 'Vic Low' }, viewer), 200).body.name).toBe('Vic Low');
    expect((await identity.get('/users/me', member)).body.name).not.toBe('Vic Low');
    expect((await identity.patch('/users/me', { name: 'X' })).status).toBe(401);
  });

  it('can be changed before a factor is set up, but not in a suspended tenant', async () => {
    const other = await registerPartner(identity);
    await testApp.query(`update partner set settings = '{"security":{"requireMfa":true}}' where id = $1`, [
      other.partnerId,
    ]);
    const strict = await testApp.startReplica();
    expect((await strict.get('/users', other)).status).toBe(428);
    expectStatus(await strict.patch('/users/me', { name: 'Pat Early' }, other), 200);
    await testApp.query(`update partner set status = 'suspended' where id = $1`, [other.partnerId]);
    const later = await testApp.startReplica();
    expect((await later.get('/users/me', other)).status).toBe(200);
    expect((await later.patch('/users/me', { name: 'Pat Late' }, other)).body.code).toBe('partner_inactive');
  });
});
