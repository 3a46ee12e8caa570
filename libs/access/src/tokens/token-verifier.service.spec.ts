import { createHmac, randomUUID } from 'node:crypto';
import { UnavailableError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { buildTokenVerifier } from '../../test/fakes.js';
import { accessToken, AUDIENCE, claims, ISSUER, signed, signingKey } from '../../test/tokens.js';
import { InvalidAccessToken } from '../access.errors.js';
import type { AccessRequest, AccessResponse } from '../callers/access-request.js';
import type { TokenVerifier } from './token-verifier.service.js';

const key = signingKey();
const other = signingKey('key-2');
const NOW = Date.parse('2026-11-20T12:00:00Z');

let clock: FixedClock;
let lookUps: string[];
let verifier: TokenVerifier;

beforeEach(() => {
  clock = new FixedClock(NOW);
  lookUps = [];
  const keys = {
    find: (kid: string) => {
      lookUps.push(kid);
      return Promise.resolve(kid === key.kid ? key.publicKey : null);
    },
  };
  verifier = buildTokenVerifier(keys, clock);
});

const verify = (token: string) => {
  const request = { headers: { authorization: `Bearer ${token}` } } as unknown as AccessRequest;
  return verifier.verify(request, {} as AccessResponse, token);
};
const whole = { ...claims(NOW), iss: ISSUER, aud: AUDIENCE };
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a valid token', () => {
  it('returns its claims', async () => {
    await expect(verify(accessToken(key, NOW))).resolves.toEqual(claims(NOW));
  });

  it('is verified once', async () => {
    const token = accessToken(key, NOW);
    const first = await verify(token);
    expect(await verify(token)).toBe(first);
    expect(lookUps).toEqual([key.kid]);
  });

  it('is accepted for thirty seconds after its expiry, also from the cache', async () => {
    const token = accessToken(key, NOW);
    await verify(token);
    clock.advance(900_000 + 29_999);
    await expect(verify(token)).resolves.toBeDefined();
    clock.advance(1);
    await expect(verify(token)).rejects.toBeInstanceOf(InvalidAccessToken);
  });

  it('is accepted up to thirty seconds before its issue time', async () => {
    await expect(verify(accessToken(key, NOW + 30_000))).resolves.toBeDefined();
    await expect(verify(accessToken(key, NOW + 32_000))).rejects.toBeInstanceOf(InvalidAccessToken);
  });

  it('returns its own claims under concurrent verification', async () => {
    const ids = Array.from({ length: 50 }, () => randomUUID());
    const read = await Promise.all(ids.map((sub) => verify(accessToken(key, NOW, { sub }))));
    expect(read.map(({ sub }) => sub)).toEqual(ids);
  });

  it('is accepted while an invalid one is rejected concurrently', async () => {
    const tokens = [accessToken(key, NOW), accessToken(other, NOW), accessToken(key, NOW, { sub: randomUUID() })];
    const outcomes = await Promise.allSettled(tokens.map(verify));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('InvalidAccessToken is thrown for', () => {
  const pem = key.publicKey.export({ type: 'spki', format: 'pem' });
  const hs256 = () => {
    const body = `${encode({ alg: 'HS256', kid: key.kid })}.${encode(whole)}`;
    return `${body}.${createHmac('sha256', pem).update(body).digest('base64url')}`;
  };
  const tampered = () => {
    const [header, , signature] = accessToken(key, NOW).split('.');
    return [header, encode({ ...whole, sub: 'another-user' }), signature].join('.');
  };

  it.each<[string, () => string]>([
    ['nonsense', () => 'nonsense'],
    ['an unknown key', () => accessToken(other, NOW)],
    ['a stranger under our key id', () => accessToken({ ...other, kid: key.kid }, NOW)],
    ['a changed payload', tampered],
    ['no signature', () => accessToken(key, NOW).replace(/[^.]+$/, '')],
    ['algorithm none', () => `${encode({ alg: 'none', kid: key.kid })}.${encode(whole)}.`],
    ['algorithm None', () => `${encode({ alg: 'None', kid: key.kid })}.${encode(whole)}.`],
    ['HS256 with our public key as secret', hs256],
    ['a header that says another algorithm', () => signed(key, { alg: 'ES384' }, whole)],
    ['a critical extension', () => signed(key, { crit: ['b64'], b64: false }, whole)],
    ['no key id', () => signed(key, { kid: undefined }, whole)],
    ['a key id that is no text', () => signed(key, { kid: { $ne: null } }, whole)],
    ['another issuer', () => signed(key, {}, { ...whole, iss: 'another-issuer' })],
    ['another audience', () => signed(key, {}, { ...whole, aud: 'elsewhere' })],
    ['another type', () => signed(key, {}, { ...whole, type: 'mfa' })],
    ['no type', () => signed(key, {}, { ...whole, type: undefined })],
    ['no expiry', () => signed(key, {}, { ...whole, exp: undefined })],
    ['an expiry that is text', () => signed(key, {}, { ...whole, exp: '9999999999' })],
    ['an unknown scope', () => signed(key, {}, { ...whole, scope: 'galaxy' })],
    ['no session', () => signed(key, {}, { ...whole, sid: undefined })],
    ['a user id that is no UUID', () => signed(key, {}, { ...whole, sub: 'x' })],
    ['a session id that is no UUID', () => signed(key, {}, { ...whole, sid: "' or 1=1" })],
    ['a partner id that is no UUID', () => signed(key, {}, { ...whole, partnerId: 'x' })],
    ['an organization id that is no UUID', () => signed(key, {}, { ...whole, orgId: 'x' })],
    ['an expiry beyond any date', () => signed(key, {}, { ...whole, exp: 1e99 })],
    ['an expiry in a year', () => signed(key, {}, { ...whole, exp: whole.exp + 31_536_000 })],
    ['no epochs', () => signed(key, {}, { ...whole, aep: undefined })],
    ['one that has ended', () => accessToken(key, NOW - 3_600_000)],
    ['a giant', () => signed(key, {}, { ...whole, padding: 'x'.repeat(10_000) })],
  ])('%s', async (_, create) => {
    await expect(verify(create())).rejects.toBeInstanceOf(InvalidAccessToken);
  });
});

describe('unreadable keys', () => {
  it('throw UnavailableError instead of InvalidAccessToken', async () => {
    const keys = { find: () => Promise.reject(new UnavailableError()) };
    verifier = buildTokenVerifier(keys, clock);
    await expect(verify(accessToken(key, NOW))).rejects.toBeInstanceOf(UnavailableError);
  });
});

describe('a withdrawn key', () => {
  it('invalidates the tokens it signed', async () => {
    let withdraw: (kids: string[]) => void = () => undefined;
    const keys = {
      find: () => Promise.resolve(lookUps.push('asked') === 1 ? key.publicKey : null),
      onWithdrawn: (listener: (kids: string[]) => void) => (withdraw = listener),
    };
    verifier = buildTokenVerifier(keys, clock);
    const token = accessToken(key, NOW);
    await verify(token);
    withdraw(['another']);
    await expect(verify(token)).resolves.toBeDefined();
    withdraw([key.kid]);
    await expect(verify(token)).rejects.toBeInstanceOf(InvalidAccessToken);
  });
});
