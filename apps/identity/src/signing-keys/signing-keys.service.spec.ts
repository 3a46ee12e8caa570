import { exportJWK, generateKeyPair } from 'jose';
import { connect } from 'nats';
import {
  ROTATE_SIGNING_KEY,
  WITHDRAW_SIGNING_KEY,
  type RotateSigningKeyReply,
  type WithdrawSigningKeyReply,
} from '@rmm/contracts';
import { natsOptions } from '@rmm/messaging';
import { eventually } from '@rmm/testing-services';
import { expectStatus, IdentityTestApp, PASSWORD, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, sessionOf } from '../../test/users.js';
import { SigningKeysRepository } from './signing-keys.repository.js';

interface Reply<Value = RotateSigningKeyReply> {
  value?: Value;
  error?: { code: string };
}

const headerOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string };
const kidOf = (token: string) => headerOf(token).kid;

describe('SigningKeysService', () => {
  let testApp: IdentityTestApp;
  let replicas: [IdentityReplica, IdentityReplica];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    replicas = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const operate = async <Value>(subject: string, request: object): Promise<Reply<Value>> => {
    const connection = await connect(natsOptions(testApp.nats.adminUrl, 'operator'));
    try {
      return (await connection.request(subject, JSON.stringify(request), { timeout: 5_000 })).json<Reply<Value>>();
    } finally {
      await connection.close();
    }
  };
  const rotate = () => operate<RotateSigningKeyReply>(ROTATE_SIGNING_KEY.subject, {});
  const withdraw = (kid: string) => operate<WithdrawSigningKeyReply>(WITHDRAW_SIGNING_KEY.subject, { kid });
  const rotated = async () => {
    const { value, error } = await rotate();
    if (!value) throw new Error(`not rotated: ${error?.code}`);
    return value;
  };
  /** Moves the last rotation into the past by some minutes. */
  const age = (minutes: number) =>
    testApp.query(
      `update signing_key set retired_at = retired_at - make_interval(mins => $1) where retired_at is not null`,
      [minutes],
    );
  const signIn = async (identity: IdentityReplica, email: string) =>
    sessionOf(expectStatus(await identity.post('/auth/login', { email, password: PASSWORD }), 200));
  const listed = async (identity: IdentityReplica) =>
    (expectStatus(await identity.get('/auth/.well-known/jwks.json'), 200).body.keys as { kid: string }[]).map(
      ({ kid }) => kid,
    );
  const me = async (identity: IdentityReplica, bearer: string) => (await identity.get('/auth/me', { bearer })).status;

  it('publishes a key before it signs and keeps every session', async () => {
    const { email } = await registerPartner(replicas[0]);
    const session = await signIn(replicas[0], email);
    const oldKid = kidOf(session.bearer);

    const { kid, replaces, signsFrom } = await rotated();
    expect(replaces).toBe(oldKid);
    expect(Date.parse(signsFrom) - Date.now()).toBeGreaterThan(330_000);
    for (const replica of replicas) {
      await eventually(async () => expect(await listed(replica)).toEqual([oldKid, kid]));
      expect(kidOf((await signIn(replica, email)).bearer)).toBe(oldKid);
    }

    await age(6);
    for (const replica of replicas) {
      await eventually(async () => expect(kidOf((await signIn(replica, email)).bearer)).toBe(kid), {
        timeoutMs: 15_000,
      });
      expect(await listed(replica)).toEqual([kid, oldKid]);
      expect(await me(replica, session.bearer)).toBe(200);
    }
    const headers = { 'x-service-csrf': session.cookies.service_csrf_token ?? '' };
    const refreshed = expectStatus(
      await replicas[1].post('/auth/refresh', undefined, { cookies: session.cookies, headers }),
      200,
    );
    expect(kidOf(refreshed.body.tokens.accessToken as string)).toBe(kid);
    expect(await me(replicas[0], refreshed.body.tokens.accessToken as string)).toBe(200);

    const created = await testApp.query<{ sealed: string; shown: object }>(
      'select private_jwk_sealed as sealed, public_jwk as shown from signing_key where kid = $1',
      [kid],
    );
    expect(created[0]?.sealed).toMatch(/^v1\./);
    expect(created[0]?.shown).not.toHaveProperty('d');
    await eventually(async () =>
      expect(
        await testApp.query(
          `select actor_type as actor, resource_id as id, details from audit_entry where action = 'signing_key.rotate'`,
        ),
      ).toEqual([{ actor: 'system', id: kid, details: { replaces, signsFrom } }]),
    );
  });

  it('removes a key from the JWKS a day after it retired', async () => {
    const { email } = await registerPartner(replicas[0]);
    const { replaces } = await rotated();
    await age(6 + 24 * 60 - 1);
    await eventually(async () => expect(await listed(replicas[1])).toContain(replaces));
    const [last] = await testApp.query<{ kid: string }>('select kid from signing_key where retired_at is null');
    await eventually(async () => expect(kidOf((await signIn(replicas[1], email)).bearer)).toBe(last?.kid), {
      timeoutMs: 15_000,
    });
    expect(await listed(replicas[1])).toContain(replaces);
    await age(2);
    await eventually(async () => expect(await listed(replicas[1])).toEqual([last?.kid]));
  });

  it('creates one key for each of two concurrent rotations', async () => {
    const before = (await testApp.query<{ kid: string }>('select kid from signing_key where retired_at is null'))[0]
      ?.kid;
    const both = await Promise.all([rotated(), rotated()]);
    expect(new Set(both.map(({ kid }) => kid)).size).toBe(2);
    const [first] = both.filter(({ replaces }) => replaces === before);
    const [second] = both.filter(({ replaces }) => replaces === first?.kid);
    expect(await testApp.query('select kid from signing_key where retired_at is null')).toEqual([{ kid: second?.kid }]);
    const { email } = await registerPartner(replicas[0]);
    expect(kidOf((await signIn(replicas[0], email)).bearer)).toBe(before);
  });

  it('verifies tokens of a key that the replica has not read yet', async () => {
    const { email } = await registerPartner(replicas[0]);
    await rotated();
    await age(12);
    const younger = await testApp.startReplica();
    const { bearer } = await signIn(younger, email);
    const [newest] = await testApp.query<{ kid: string }>('select kid from signing_key where retired_at is null');
    expect(kidOf(bearer)).toBe(newest?.kid);
    for (const replica of replicas) expect(await me(replica, bearer)).toBe(200);
    const elder = await signIn(replicas[0], email);
    expect(await me(younger, elder.bearer)).toBe(200);
    await younger.stop();
  });

  it('reads the database once for repeated unknown key ids', async () => {
    const { email } = await registerPartner(replicas[0]);
    const [, payload, signature] = (await signIn(replicas[0], email)).bearer.split('.');
    const looks = jest.spyOn(replicas[0].app.get(SigningKeysRepository), 'listUsable');
    const started = performance.now();
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: `../made-up-${n}` })).toString('base64url');
        return me(replicas[0], `${header}.${payload}.${signature}`);
      }),
    );
    const seconds = Math.ceil((performance.now() - started) / 1_000);
    expect(new Set(responses)).toEqual(new Set([401]));
    expect(looks.mock.calls.length).toBeLessThanOrEqual(1 + 3 * seconds); // and what the poll reads
    looks.mockRestore();
  });

  it('withdraws the signing key at once on every replica, and sessions continue by their refresh token', async () => {
    const { email } = await registerPartner(replicas[0]);
    const session = await signIn(replicas[0], email);
    const kid = kidOf(session.bearer);
    for (const replica of replicas) expect(await me(replica, session.bearer)).toBe(200); // verified tokens are cached
    const { value } = await withdraw(kid);
    expect(value?.kid).toBe(kid);
    expect(value?.signs).not.toBe(kid);
    for (const replica of replicas) {
      await eventually(async () => expect(await me(replica, session.bearer)).toBe(401), { timeoutMs: 10_000 });
      await eventually(async () => expect(await listed(replica)).not.toContain(kid), { timeoutMs: 10_000 });
      expect(kidOf((await signIn(replica, email)).bearer)).not.toBe(kid);
    }
    const headers = { 'x-service-csrf': session.cookies.service_csrf_token ?? '' };
    const refreshed = expectStatus(
      await replicas[1].post('/auth/refresh', undefined, { cookies: session.cookies, headers }),
      200,
    );
    for (const replica of replicas) expect(await me(replica, sessionOf(refreshed).bearer)).toBe(200);
    const [row] = await testApp.query<{ sealed: string }>(
      'select private_jwk_sealed as sealed from signing_key where kid = $1',
      [kid],
    );
    expect(row?.sealed).toBe('');
    await eventually(async () =>
      expect(
        await testApp.query(`select actor_type as actor from audit_entry where action = 'signing_key.withdraw'`),
      ).toEqual([{ actor: 'system' }]),
    );
  });

  it('withdraws a retired key and refuses to withdraw an unknown one', async () => {
    const { email } = await registerPartner(replicas[0]);
    const session = await signIn(replicas[0], email);
    const { kid } = await rotated();
    await age(6);
    const { value } = await withdraw(kidOf(session.bearer));
    expect(value?.signs).toBe(kid);
    await eventually(async () => expect(await me(replicas[1], session.bearer)).toBe(401), { timeoutMs: 10_000 });
    expect(await withdraw('made-up')).toMatchObject({ error: { code: 'not_found' } });
  });

  it('uses configured keys, keeps older keys valid and shares them between replicas', async () => {
    const ring = async (...kids: string[]) =>
      await Promise.all(
        kids.map(async (kid) => ({
          ...(await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)),
          kid,
        })),
      );
    const configured = (keys: object[], activeKid: string) =>
      testApp.startReplica({ JWT_SIGNING_KEYRING: JSON.stringify({ keys }), JWT_ACTIVE_KID: activeKid });
    const [one, two] = await ring('configured-1', 'configured-2');

    const { email } = await registerPartner(replicas[0]);
    const stored = await signIn(replicas[0], email);
    const first = await configured([one ?? {}], 'configured-1');
    const byFirst = await signIn(first, email);
    expect(kidOf(byFirst.bearer)).toBe('configured-1');
    expect(await me(first, stored.bearer)).toBe(200);
    expect(await me(replicas[0], byFirst.bearer)).toBe(200);

    const second = await configured([two ?? {}], 'configured-2');
    const bySecond = await signIn(second, email);
    expect(kidOf(bySecond.bearer)).toBe('configured-2');
    expect(await me(second, byFirst.bearer)).toBe(200);
    expect(await me(first, bySecond.bearer)).toBe(200);
    expect(await listed(second)).toEqual(
      expect.arrayContaining(['configured-2', 'configured-1', kidOf(stored.bearer)]),
    );
    expect((await listed(second))[0]).toBe('configured-2');

    await Promise.all(replicas.map((replica) => replica.stop()));
    expect(await rotate()).toMatchObject({ error: { code: 'signing_keys_configured' } });
    await first.stop();
    expect(await withdraw('configured-2')).toMatchObject({ error: { code: 'signing_keys_configured' } });
    expect(await withdraw('configured-1')).toMatchObject({ value: { kid: 'configured-1', signs: 'configured-2' } });
    await eventually(async () => expect(await me(second, byFirst.bearer)).toBe(401), { timeoutMs: 10_000 });
    await expect(configured([one ?? {}], 'configured-1')).rejects.toThrow('withdrawn');
  });
});
