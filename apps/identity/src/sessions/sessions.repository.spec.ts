import { randomBytes, randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { SessionsRepository, type NewSession } from './sessions.repository.js';

describe('SessionsRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let repository: SessionsRepository;
  let worker: WorkerDatabase;
  let user: TestUser;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    repository = identity.app.get(SessionsRepository, { strict: false });
    worker = identity.app.get(WorkerDatabase);
    user = await registerPartner(identity);
  }, 120_000);
  afterAll(() => testApp.stop());
  beforeEach(() => testApp.query('delete from session_family'));

  const run = <T>(work: (tx: WorkerTransaction) => Promise<T>) => worker.transaction(work);
  const create = async (changes: Partial<NewSession> = {}) => {
    const session: NewSession = {
      id: randomUUID(),
      userId: user.userId,
      scope: 'partner',
      partnerId: user.partnerId,
      orgId: null,
      mfa: false,
      method: 'password',
      authEpoch: 0,
      mfaEpoch: 0,
      ipAddress: '192.0.2.1',
      userAgent: 'curl/8.5.0',
      lifetimeHours: 24,
      factorProven: false,
      passwordProven: true,
      replaces: null,
      keepsFactor: false,
      ssoProviderId: null,
      ssoSid: null,
      factor: null,
      tokenHash: randomBytes(32),
      tokenTtlDays: 7,
      ...changes,
    };
    await run((tx) => repository.insert(tx, session));
    return session;
  };
  const rowOf = async (id: string) => {
    const [row] = await testApp.query<{ method: string; ends: Date; agent: string; reason: string | null }>(
      `select method, absolute_expires_at as ends, user_agent as agent, revoked_reason as reason
       from session_family where id = $1`,
      [id],
    );
    if (!row) throw new Error(`no session ${id}`);
    return row;
  };
  const revoke = (id: string) => run((tx) => repository.revoke(tx, id, 'logout'));
  const use = (changes: object = {}) => ({
    membership: { scope: 'partner', partnerId: user.partnerId, orgId: null } as const,
    lifetimeHours: 24,
    ipAddress: null,
    userAgent: null,
    ...changes,
  });

  it('stores a session whose first token does not outlive it', async () => {
    const { id, tokenHash } = await create({ userAgent: 'x'.repeat(600) });
    const [token] = await testApp.query<{ expires: Date }>('select expires_at as expires from refresh_token');
    const stored = await rowOf(id);
    expect(stored.agent).toHaveLength(512);
    expect(token?.expires).toEqual(stored.ends);
    const presented = await repository.findToken(worker, tokenHash);
    expect(presented).toMatchObject({ id, email: user.email, expired: false, rotated: false, familyEnded: false });
    expect(await repository.findToken(worker, randomBytes(32))).toBeNull();
  });

  it('takes over end, method and newest proofs of a replaced session of the same user', async () => {
    const old = await create({ method: 'invite', lifetimeHours: 2, factorProven: true });
    const next = await create({ replaces: old.id, passwordProven: false });
    expect(await rowOf(next.id)).toMatchObject({ method: 'invite', ends: (await rowOf(old.id)).ends });
    const proofs = await repository.findProofs(worker, next.id);
    expect(proofs).toMatchObject({ passwordProofAt: expect.any(Date), factorProofAt: expect.any(Date) });
    const other = await registerPartner(identity);
    const foreign = await create({ userId: other.userId, replaces: old.id });
    expect((await rowOf(foreign.id)).method).toBe('password');
  });

  it('claims a token for one of concurrent callers', async () => {
    const { tokenHash } = await create();
    const token = await repository.findToken(worker, tokenHash);
    const claims = await Promise.all([1, 2, 3].map(() => run((tx) => repository.claimToken(tx, token?.tokenId ?? ''))));
    expect(claims.filter((claimed) => claimed)).toHaveLength(1);
    expect(await repository.findToken(worker, tokenHash)).toMatchObject({
      rotated: true,
      rotatedSecondsAgo: expect.any(Number),
    });
  });

  it('adds tokens that end with their session', async () => {
    const { id } = await create();
    const tokenHash = randomBytes(32);
    await run((tx) => repository.insertToken(tx, id, tokenHash, 30));
    const rows = await testApp.query<{ expires: Date }>(
      'select expires_at as expires from refresh_token where token_hash = $1',
      [tokenHash],
    );
    expect(rows).toEqual([{ expires: (await rowOf(id)).ends }]);
  });

  it('records a use, keeps an unknown client, and shortens the session by its policy', async () => {
    const { id } = await create();
    expect(await run((tx) => repository.recordUse(tx, id, use({ lifetimeHours: 1 })))).toBe(true);
    const stored = await rowOf(id);
    expect(stored.agent).toBe('curl/8.5.0');
    expect(stored.ends.getTime() - Date.now()).toBeLessThanOrEqual(3_600_000);
    await run((tx) => repository.recordUse(tx, id, use({ lifetimeHours: 48, userAgent: 'wget/1' })));
    expect(await rowOf(id)).toMatchObject({ agent: 'wget/1', ends: stored.ends });
    expect(await run((tx) => repository.recordUse(tx, id, use({ lifetimeHours: 0 })))).toBe(false);
    await revoke(id);
    expect(await run((tx) => repository.recordUse(tx, id, use()))).toBe(false);
    expect(await repository.findProofs(worker, id)).toBeNull();
  });

  it('revokes one session, those of a user, one by its user, and all others', async () => {
    const [first, second, third] = [await create(), await create(), await create()];
    expect(await revoke(first.id)).toBe(1);
    expect(await revoke(first.id)).toBe(0);
    expect(await run((tx) => repository.revokeOwn(tx, randomUUID(), second.id))).toBe(false);
    expect(await run((tx) => repository.revokeOwn(tx, user.userId, second.id))).toBe(true);
    expect((await rowOf(second.id)).reason).toBe('ended_by_user');
    await create();
    expect(await run((tx) => repository.revokeOthers(tx, user.userId, third.id))).toBe(1);
    expect(await run((tx) => repository.revokeAll(tx, user.userId, 'password_reset'))).toBe(1);
    expect((await rowOf(third.id)).reason).toBe('password_reset');
    expect((await rowOf(first.id)).reason).toBe('logout');
  });

  it('lists active sessions of the current epochs, newest first', async () => {
    const [epochs] = await testApp.query<{ authEpoch: number; mfaEpoch: number }>(
      'select auth_epoch as "authEpoch", mfa_epoch as "mfaEpoch" from user_account where id = $1',
      [user.userId],
    );
    const [older, newer] = [await create(epochs), await create(epochs)];
    const ended = await create(epochs);
    await revoke(ended.id);
    const tenant = { scope: 'partner', orgId: null, orgAccess: 'all', orgIds: [] as string[] } as const;
    const caller = { userId: user.userId, tenant: { ...tenant, partnerId: user.partnerId, userId: user.userId } };
    const list = async () => (await repository.list(caller as unknown as UserCaller, { page: 1, limit: 10 })).rows;
    expect((await list()).map(({ id }) => id)).toEqual([newer.id, older.id]);
    await run((tx) => repository.incrementAuthEpoch(tx, user.userId));
    expect(await list()).toEqual([]);
  });

  it('reports a new device of a user who has another one', async () => {
    const { userId } = await registerPartner(identity);
    await testApp.query('delete from known_device where user_id = $1', [userId]);
    const [first, second] = [randomBytes(32), randomBytes(32)];
    const remember = (device: Buffer) => run((tx) => repository.rememberDevice(tx, userId, device));
    expect(await remember(first)).toBe(false);
    expect(await remember(second)).toBe(true);
    expect(await remember(second)).toBe(false);
    await testApp.query(
      `update known_device set last_seen_at = now() - interval '401 days' where user_id = $1 and fingerprint = $2`,
      [userId, first],
    );
    await repository.purgeUnusedDevices(worker, 10);
    expect(await testApp.query('select fingerprint from known_device where user_id = $1', [userId])).toEqual([
      { fingerprint: second },
    ]);
  });

  it('purges tokens of sessions a day after their end, in batches', async () => {
    const [kept, ended, revoked] = [await create(), await create(), await create()];
    const tokens = async (ids: string[]) =>
      (await testApp.query('select 1 from refresh_token where family_id = any($1)', [ids])).length;
    await testApp.query(`update session_family set absolute_expires_at = now() - interval '25 hours' where id = $1`, [
      ended.id,
    ]);
    await testApp.query(`update session_family set revoked_at = now() - interval '25 hours' where id = $1`, [
      revoked.id,
    ]);
    expect(await repository.purgeEndedTokens(worker, 2, 1)).toBe(1);
    expect(await repository.purgeEndedTokens(worker, 2, 100)).toBe(1);
    expect(await tokens([ended.id, revoked.id])).toBe(0);
    expect(await tokens([kept.id])).toBe(1);
    await testApp.query('delete from session_family where id = any($1)', [[kept.id, ended.id, revoked.id]]);
  });

  it('purges sessions 30 days after their end, in batches', async () => {
    const [kept, ...ended] = [await create(), await create(), await create()];
    await testApp.query(
      `update session_family set absolute_expires_at = now() - interval '31 days' where id = any($1)`,
      [ended.map(({ id }) => id)],
    );
    expect(await repository.purgeEnded(worker, 1)).toBe(1);
    expect(await repository.purgeEnded(worker, 10)).toBe(1);
    expect(await testApp.query('select id from session_family')).toEqual([{ id: kept.id }]);
    expect(await testApp.query('select 1 from refresh_token')).toHaveLength(1);
  });
});
