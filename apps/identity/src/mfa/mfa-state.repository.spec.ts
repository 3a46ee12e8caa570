import { randomUUID } from 'node:crypto';
import { hashKey, KeyRing } from '@rmm/secrets';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { MfaStateRepository, type PendingLogin, type SetupOwner, type TotpSetup } from './mfa-state.repository.js';

const setup: TotpSetup = { secret: 'JBSWY3DPEHPK3PXP', recoveryCodes: ['AAAA-BBBB'] };

describe('MfaStateRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let state: MfaStateRepository;
  let redis: RedisConnections;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    state = identity.app.get(MfaStateRepository, { strict: false });
    redis = identity.app.get(RedisConnections);
  }, 120_000);
  afterAll(() => testApp.stop());

  const entered = { scope: 'partner', partnerId: randomUUID(), orgId: null, invitation: null } as const;
  const pending = (): PendingLogin => ({ userId: randomUUID(), method: 'totp', authEpoch: 1, mfaEpoch: 2, ...entered });
  const owner = (): SetupOwner => ({ userId: randomUUID(), sessionId: randomUUID() });
  const stored = async (pattern: string) => {
    const [key = ''] = await redis.shared.keys(pattern);
    return { key, value: await redis.shared.get(key), ttl: await redis.shared.ttl(key) };
  };
  const firstOf = async (work: () => Promise<boolean>) =>
    (await Promise.all([work(), work(), work()])).filter((won) => won).length;

  it('stores a pending login under the hash of its token for 300 seconds', async () => {
    const login = pending();
    const token = await state.createPendingLogin(login);
    expect(token).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(await state.findPendingLogin(token)).toEqual(login);
    expect(await state.findPendingLogin(`${token.slice(1)}x`)).toBeNull();
    const { key, ttl } = await stored('rmm:identity:mfa-login:*');
    expect(key).not.toContain(token);
    expect(ttl).toBeGreaterThan(290);
    expect(ttl).toBeLessThanOrEqual(300);
  });

  it('ends a pending login for one of concurrent callers', async () => {
    const token = await state.createPendingLogin(pending());
    expect(await firstOf(async () => (await state.consumePendingLogin(token)) !== null)).toBe(1);
    expect(await state.findPendingLogin(token)).toBeNull();
  });

  it('restores a pending login for the time that it had left', async () => {
    const login = pending();
    const token = await state.createPendingLogin(login);
    const key = `rmm:identity:mfa-login:{${hashKey(token).toString('hex')}}`;
    await redis.shared.expire(key, 100);
    const secondsLeft = (await state.consumePendingLogin(token)) ?? 0;
    expect(secondsLeft).toBeGreaterThan(0);
    expect(secondsLeft).toBeLessThanOrEqual(100);
    await state.restorePendingLogin(token, login, secondsLeft);
    expect(await state.findPendingLogin(token)).toEqual(login);
    expect(await redis.shared.ttl(key)).toBeLessThanOrEqual(secondsLeft);
  });

  it('seals a setup for its session and replaces an earlier one', async () => {
    const session = owner();
    await state.createSetup(session, { ...setup, secret: 'OLDER' });
    await state.createSetup(session, setup);
    expect(await state.findSetup(session)).toEqual(setup);
    expect(await state.findSetup({ ...session, sessionId: randomUUID() })).toBeNull();
    const { key, value, ttl } = await stored(`rmm:identity:totp-setup:*${session.sessionId}`);
    expect(value).toMatch(/^v1\./);
    expect(value).not.toContain(setup.secret);
    expect(ttl).toBeGreaterThan(590);
    const other = owner();
    await redis.shared.set(key.replace(session.userId, other.userId), value ?? '');
    const moved = state.findSetup({ ...session, userId: other.userId });
    await expect(moved).rejects.toThrow();
    expect(await firstOf(() => state.consumeSetup(session))).toBe(1);
    expect(await state.findSetup(session)).toBeNull();
  });

  it('stores a grant with its binding until it is used once', async () => {
    const id = await state.createGrant('binding');
    expect(id).toMatch(/^[\w-]{43}$/);
    expect(await state.findGrant(id)).toBe('binding');
    expect(await state.findGrant('unknown')).toBeNull();
    expect((await stored('rmm:identity:step-up:*')).key).not.toContain(id);
    expect(await firstOf(() => state.consumeGrant(id))).toBe(1);
    expect(await state.findGrant(id)).toBeNull();
  });

  it('claims a TOTP step of a user once', async () => {
    const userId = randomUUID();
    expect(await firstOf(() => state.claimTotpStep(userId, 7))).toBe(1);
    expect(await state.claimTotpStep(userId, 8)).toBe(true);
    expect(await state.claimTotpStep(randomUUID(), 7)).toBe(true);
  });

  it('throws UnavailableError when Redis fails', async () => {
    const fail = () => Promise.reject(new Error('connection is closed'));
    const shared = { set: fail, get: fail, del: fail };
    const broken = new MfaStateRepository({ shared } as unknown as RedisConnections, identity.app.get(KeyRing));
    await expect(broken.createGrant('binding')).rejects.toThrow(UnavailableError);
    await expect(broken.findPendingLogin('token')).rejects.toThrow(UnavailableError);
    await expect(broken.consumeSetup(owner())).rejects.toThrow(UnavailableError);
    await expect(broken.claimTotpStep(randomUUID(), 1)).rejects.toThrow(UnavailableError);
  });
});
