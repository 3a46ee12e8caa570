import { randomBytes } from 'node:crypto';
import type { Logger } from '@rmm/service-kit';
import {
  SoftwareAuthenticator,
  type CborValue,
  type CeremonyOverrides,
  type CredentialJson,
  type RegistrationOverrides,
} from '@rmm/testing/software-authenticator';
import type { IdentityConfig } from '../config.js';
import type { Passkey } from './passkey.entity.js';
import { readAssertion, readRegistration } from './webauthn-credential.js';
import { userHandleOf, WebAuthnService } from './webauthn.service.js';

const ORIGIN = 'https://app.example.com';
const USER = { id: '7d9f2c1e-0000-4000-8000-000000000000', email: 'robin@example.com', name: 'Robin Vale' };
const OTHER_CHALLENGE = randomBytes(32).toString('base64url');

const flipLastBit = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
};

describe('WebAuthnService', () => {
  const debug = jest.fn();
  const config = { webauthn: { rpId: 'example.com', rpName: 'RMM', origins: [ORIGIN, 'https://example.com'] } };
  const service = new WebAuthnService({ debug } as unknown as Logger, config as unknown as IdentityConfig);
  let authenticator: SoftwareAuthenticator;

  beforeEach(() => {
    authenticator = new SoftwareAuthenticator(ORIGIN);
    debug.mockClear();
  });

  const register = async (overrides: RegistrationOverrides = {}, change = (json: CredentialJson) => json) => {
    const options = await service.createRegistrationOptions(USER, []);
    const response = readRegistration(change(authenticator.create(options, overrides)));
    return response && service.verifyRegistration(response, options.challenge);
  };
  const registered = async (overrides: RegistrationOverrides = {}): Promise<Passkey> => {
    const verified = await register(overrides);
    if (!verified) throw new Error('not registered');
    return { ...verified, id: 'passkey', userId: USER.id, name: 'Key', lastUsedAt: null, createdAt: new Date() };
  };
  const assertWith = async (
    passkey: Passkey,
    overrides: CeremonyOverrides = {},
    change = (json: CredentialJson) => json,
  ) => {
    const options = await service.createRequestOptions([passkey]);
    const response = readAssertion(change(authenticator.get(options, overrides)));
    return response && service.verifyAssertion(response, options.challenge, passkey);
  };

  it.each(['ES256', 'RS256', 'EdDSA'] as const)('verifies %s with none and packed attestation', async (algorithm) => {
    for (const attestation of ['none', 'packed'] as const) {
      const passkey = await registered({ algorithm, attestation, counter: 3 });
      expect(passkey).toMatchObject({
        counter: 3,
        deviceType: 'singleDevice',
        backedUp: false,
        transports: ['internal'],
      });
      expect(await assertWith(passkey, { counter: 4 })).toEqual({ passkeyId: 'passkey', counter: 4, backedUp: false });
    }
  });

  it('creates challenges of 256 bits that differ', async () => {
    const challenges = await Promise.all(Array.from({ length: 50 }, () => service.createRequestOptions()));
    expect(new Set(challenges.map(({ challenge }) => challenge)).size).toBe(50);
    for (const { challenge } of challenges) expect(Buffer.from(challenge, 'base64url')).toHaveLength(32);
  });

  it('names the user by bytes that say nothing about it', async () => {
    const { user } = await service.createRegistrationOptions(USER, []);
    expect(user).toEqual({ id: userHandleOf(USER.id), name: USER.email, displayName: USER.name });
    expect(Buffer.from(user.id, 'base64url')).toHaveLength(16);
  });

  it('excludes the registered passkeys from another registration', async () => {
    const passkey = await registered();
    const { excludeCredentials } = await service.createRegistrationOptions(USER, [passkey]);
    const id = passkey.credentialId.toString('base64url');
    expect(excludeCredentials).toEqual([{ id, type: 'public-key', transports: ['internal'] }]);
  });

  it('follows the backup state of a synchronized passkey', async () => {
    const passkey = await registered({ backupEligible: true, backedUp: false });
    expect(passkey).toMatchObject({ deviceType: 'multiDevice', backedUp: false });
    expect(await assertWith(passkey, { backupEligible: true, backedUp: true })).toMatchObject({ backedUp: true });
  });

  const common: [string, CeremonyOverrides][] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['a sub-domain that is not listed', { origin: 'https://x.app.example.com' }],
    ['another port', { origin: `${ORIGIN}:8443` }],
    ['another scheme', { origin: 'http://app.example.com' }],
    ['a page embedded in another origin', { crossOrigin: true, topOrigin: 'https://evil.example' }],
    ['a page that claims to be embedded', { crossOrigin: true }],
    ['a page with a top origin alone', { topOrigin: ORIGIN }],
    ['another relying party', { rpId: 'evil.example' }],
    ['the relying party of the sub-domain', { rpId: 'app.example.com' }],
    ['another challenge', { challenge: OTHER_CHALLENGE }],
    ['an empty challenge', { challenge: '' }],
    ['no user verification', { userVerified: false }],
    ['no user presence', { userPresent: false }],
    ['a backup without eligibility', { backedUp: true }],
    ['authenticator data that is cut', { authenticatorData: (data) => data.subarray(0, 36) }],
    ['authenticator data with a byte more', { authenticatorData: (data) => Buffer.concat([data, Buffer.from([0])]) }],
  ];

  it.each([
    ...common,
    ['the type of a sign-in', { type: 'webauthn.get' }],
    ['another credential id in the response', { id: randomBytes(32).toString('base64url') }],
  ] as [string, RegistrationOverrides][])('registers no passkey with %s', async (_, overrides) => {
    expect(await register(overrides)).toBeNull();
  });

  const without = (key: number) => (cose: Map<number, CborValue>) => {
    const copy = new Map(cose);
    copy.delete(key);
    return copy;
  };
  const withEntry = (key: number, value: CborValue) => (cose: Map<number, CborValue>) => new Map(cose).set(key, value);
  it.each([
    ['an RSA key of 1,024 bits', { algorithm: 'RS256', rsaBits: 1_024 }],
    ['an algorithm that was not offered', { coseKey: withEntry(3, -36) }],
    ['an RSA algorithm of SHA-1', { algorithm: 'RS256', coseKey: withEntry(3, -65_535) }],
    ['a curve that was not offered', { coseKey: withEntry(-1, 2) }],
    ['a point that is not on the curve', { coseKey: withEntry(-2, randomBytes(32)) }],
    ['a coordinate too short', { coseKey: withEntry(-2, randomBytes(16)) }],
    ['a key without an algorithm', { coseKey: without(3) }],
    ['a key without a coordinate', { coseKey: without(-3) }],
    ['another key than the one that attests', { attestation: 'packed', coseKey: withEntry(-2, randomBytes(32)) }],
    ['an attestation object that is no CBOR', { attestationObject: () => randomBytes(200) }],
    ['an attestation object that is cut', { attestationObject: (bytes: Buffer) => bytes.subarray(0, -20) }],
    [
      'an attestation format that was not requested',
      {
        attestationObject: (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replace('dnone', 'dtpmx'), 'latin1'),
      },
    ],
    ['a credential id of more than 1,023 bytes', { credentialId: randomBytes(1_024) }],
  ] as [string, RegistrationOverrides][])('registers no passkey with %s', async (_, overrides) => {
    expect(await register(overrides)).toBeNull();
  });

  it('registers no passkey with an attestation object of megabytes', async () => {
    const huge = { attestationObject: () => Buffer.alloc(1_000_000) };
    expect(await register(huge)).toBeNull();
    expect(debug).not.toHaveBeenCalled(); // refused before it is parsed
  });

  it.each([
    ...common,
    ['the type of a registration', { type: 'webauthn.create' }],
    ['a signature with another bit', { signature: flipLastBit }],
    ['an empty signature', { signature: () => Buffer.alloc(0) }],
    ['random bytes as signature', { signature: () => randomBytes(70) }],
  ] as [string, CeremonyOverrides][])('accepts no assertion with %s', async (_, overrides) => {
    const passkey = await registered();
    expect(await assertWith(passkey, overrides)).toBeNull();
    expect(await assertWith(passkey)).not.toBeNull();
  });

  it('accepts no assertion of another key', async () => {
    const [passkey, other] = [await registered(), await registered()];
    expect(await assertWith({ ...passkey, publicKey: other.publicKey })).toBeNull();
  });

  it('accepts no assertion whose client data were changed after the signature', async () => {
    const passkey = await registered();
    const change = (json: CredentialJson) => {
      const data = Buffer.from(String(json.response.clientDataJSON), 'base64url').toString();
      const clientDataJSON = Buffer.from(data.replace('"crossOrigin":false', '"crossOrigin":false ')).toString(
        'base64url',
      );
      return { ...json, response: { ...json.response, clientDataJSON } };
    };
    expect(await assertWith(passkey, {}, change)).toBeNull();
  });

  it('accepts no assertion whose backup eligibility differs from the registration', async () => {
    expect(await assertWith(await registered(), { backupEligible: true })).toBeNull();
    expect(await assertWith(await registered({ backupEligible: true }), { backupEligible: false })).toBeNull();
  });

  it('logs the reason of a refusal without the response', async () => {
    await assertWith(await registered(), { origin: 'https://evil.example' });
    const [[details]] = debug.mock.calls as [[{ ceremony: string; reason: string }]];
    expect(details).toEqual({ ceremony: 'assertion', reason: expect.stringContaining('origin') });
  });
});
