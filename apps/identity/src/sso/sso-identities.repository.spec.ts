import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { organizationCaller, partnerCaller } from '../../test/callers.js';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { SsoIdentitiesRepository } from './sso-identities.repository.js';

describe('SsoIdentitiesRepository', () => {
  let database: IdentityTestDatabase;
  let repository: SsoIdentitiesRepository;
  let partnerId: string;
  let orgId: string;
  let providerId: string;
  let userId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new SsoIdentitiesRepository(database.worker);
    partnerId = await database.createPartner();
    orgId = await database.createOrganization(partnerId);
  }, 120_000);
  beforeEach(async () => {
    providerId = await database.createProvider(partnerId, orgId);
    userId = await database.createUser();
  });
  afterAll(() => database?.stop());

  const link = (subject: string, changes: { userId?: string; providerId?: string } = {}) =>
    database.worker.transaction((tx) =>
      repository.link(tx, { providerId, subject, userId, email: 'robin@users.test', ...changes }),
    );
  const findUserId = (subject: string) => repository.findUserId(database.worker, providerId, subject);
  const endSessions = (
    sessions: { userId?: string | null; sid?: string | null; providerId?: string },
    except: string | null = null,
  ) =>
    database.worker.transaction((tx) =>
      repository.endSessions(tx, { providerId, userId: null, sid: null, ...sessions }, except),
    );
  const reasonOf = async (sessionId: string) => {
    const [row] = await database.query<{ revoked_reason: string | null }>(
      'SELECT revoked_reason FROM session_family WHERE id = $1',
      [sessionId],
    );
    return row?.revoked_reason;
  };

  it('finds the user of a subject at its own provider only', async () => {
    expect(await link('subject')).toBe('linked');
    expect(await findUserId('subject')).toBe(userId);
    expect(await findUserId('Subject')).toBeNull();
    const other = await database.createProvider(partnerId, orgId);
    expect(await repository.findUserId(database.worker, other, 'subject')).toBeNull();
  });

  it('removes all identities of a provider that the caller may see, and returns the addresses of visible users', async () => {
    const removeAll = (by: UserCaller) =>
      database.tenants.transaction(by, (tx) => repository.removeAll(tx, providerId));
    const roleId = await database.createRole(partnerId, orgId, `Role ${providerId}`);
    await database.insert('organization_membership', {
      ...{ user_id: userId, partner_id: partnerId, org_id: orgId, role_id: roleId },
    });
    const former = await database.createUser();
    await link('member');
    await link('former member', { userId: former });
    expect(await removeAll(partnerCaller(await database.createPartner()))).toEqual([]);
    const removed = await removeAll(organizationCaller(partnerId, orgId));
    expect(removed).toHaveLength(2);
    expect(removed).toContainEqual({ userId, email: expect.stringContaining('@users.test'), name: 'Robin Vale' });
    expect(removed).toContainEqual({ userId: former, email: null, name: null });
    expect(await removeAll(organizationCaller(partnerId, orgId))).toEqual([]);
  });

  it('links a subject to one of two users who race for it, and again to its own', async () => {
    const users = [userId, await database.createUser()];
    const links = await Promise.all(users.map((each) => link('raced', { userId: each })));
    expect(links.filter((result) => result === 'linked')).toHaveLength(1);
    const winner = users[links.indexOf('linked')];
    expect(await findUserId('raced')).toBe(winner);
    expect(await link('raced', { userId: winner })).toBe('present');
  });

  it('links one subject of a provider to a user', async () => {
    expect(await link('first')).toBe('linked');
    expect(await link('second')).toBe('taken');
    expect(await findUserId('second')).toBeNull();
    expect(await link('second', { providerId: await database.createProvider(partnerId, orgId) })).toBe('linked');
  });

  it('returns whether another provider vouches for a user', async () => {
    await link('subject');
    expect(await repository.hasOther(database.worker, userId, providerId)).toBe(false);
    expect(await repository.hasOther(database.worker, userId, randomUUID())).toBe(true);
  });

  it('lists the identities of a user, newest first, and its providers by their last use', async () => {
    const older = await database.createProvider(partnerId, null, { name: 'Partner' });
    await link('subject');
    await link('subject', { providerId: older });
    await link('stranger', { userId: await database.createUser() });
    await database.query(`UPDATE sso_identity SET created_at = now() - INTERVAL '1 day' WHERE provider_id = $1`, [
      older,
    ]);
    expect(await repository.listProviderIds(userId)).toEqual([providerId, older]);
    await repository.recordLogin(database.worker, older, 'subject');
    expect(await repository.listProviderIds(userId)).toEqual([older, providerId]);
    const { rows } = await repository.list(userId, { page: 1, limit: 10 });
    expect(rows).toEqual([
      expect.objectContaining({ providerId, providerName: 'Entra', orgId, lastLoginAt: null }),
      expect.objectContaining({ providerId: older, providerName: 'Partner', orgId: null }),
    ]);
    expect(rows[1]?.lastLoginAt).toBeInstanceOf(Date);
    expect((await repository.list(userId, { page: 2, limit: 1 })).rows).toMatchObject([{ providerId: older }]);
  });

  it('removes an identity of the caller, never that of another user', async () => {
    await link('subject');
    const [row] = (await repository.list(userId, { page: 1, limit: 1 })).rows;
    const remove = (by: string) =>
      database.worker.transaction((tx) => repository.remove(tx, by, row?.id ?? randomUUID()));
    expect(await remove(await database.createUser())).toBeNull();
    expect(await remove(userId)).toEqual({ providerId, providerName: expect.any(String) });
    expect(await remove(userId)).toBeNull();
  });

  it('ends the open sessions that a provider opened for a user, but the given one', async () => {
    const own = { sso_provider_id: providerId };
    const [first, current] = [await database.createSession(userId, own), await database.createSession(userId, own)];
    const untouched = [
      await database.createSession(userId),
      await database.createSession(userId, { sso_provider_id: await database.createProvider(partnerId, orgId) }),
      await database.createSession(await database.createUser(), own),
    ];
    expect(await endSessions({ userId }, current)).toEqual([userId]);
    expect(await reasonOf(first)).toBe('sso_logout');
    expect(await Promise.all([current, ...untouched].map(reasonOf))).toEqual([null, null, null, null]);
    expect(await endSessions({ userId }, current)).toEqual([]);
  });

  it('ends the one session that the provider names, or all that it opened', async () => {
    const other = await database.createUser();
    const named = await database.createSession(userId, { sso_provider_id: providerId, sso_sid: 'sid-1' });
    await database.createSession(userId, { sso_provider_id: providerId, sso_sid: 'sid-2' });
    await database.createSession(other, { sso_provider_id: providerId });
    expect(await endSessions({ sid: 'sid-1' })).toEqual([userId]);
    expect(await reasonOf(named)).toBe('sso_logout');
    expect((await endSessions({})).sort()).toEqual([userId, other].sort());
  });

  it('returns the provider that a session began with', async () => {
    const session = await database.createSession(userId, { sso_provider_id: providerId });
    const plain = await database.createSession(userId, { method: 'password' });
    expect(await repository.findSource(database.worker, session)).toBe(providerId);
    expect(await repository.findSource(database.worker, plain)).toBeNull();
    expect(await repository.findSource(database.worker, randomUUID())).toBeNull();
  });
});
