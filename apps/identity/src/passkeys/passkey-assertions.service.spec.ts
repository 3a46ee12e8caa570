import { randomUUID } from 'node:crypto';
import type { WorkerDatabase } from '@rmm/persistence';
import type { Logger } from '@rmm/service-kit';
import { SoftwareAuthenticator, type CeremonyOverrides } from '@rmm/testing/software-authenticator';
import { buildConfig } from '../../test/fakes.js';
import { PasskeyNotAvailable } from '../mfa/mfa.errors.js';
import { PasskeyAssertionsService, type UserCeremony } from './passkey-assertions.service.js';
import type { PasskeyChallengesRepository, StoredChallenge } from './passkey-challenges.repository.js';
import type { Passkey } from './passkey.entity.js';
import type { PasskeysRepository } from './passkeys.repository.js';
import { readRegistration } from './webauthn-credential.js';
import { userHandleOf, WebAuthnService } from './webauthn.service.js';

const ORIGIN = 'https://app.test';

describe('PasskeyAssertionsService', () => {
  const db = {} as WorkerDatabase;
  const webauthn = new WebAuthnService(
    { debug: () => undefined } as unknown as Logger,
    buildConfig({ webauthn: { rpId: 'app.test', rpName: 'RMM', origins: [ORIGIN] } }),
  );
  const ceremony: UserCeremony = { purpose: 'step-up', userId: 'user', sessionId: 'session' };
  let authenticator: SoftwareAuthenticator;
  let passkeys: Passkey[];
  let challenges: Map<string, StoredChallenge>;
  let service: PasskeyAssertionsService;

  beforeEach(() => {
    [authenticator, passkeys, challenges] = [new SoftwareAuthenticator(ORIGIN), [], new Map()];
    service = new PasskeyAssertionsService(
      webauthn,
      {
        save: (of: object, stored: StoredChallenge) => Promise.resolve(challenges.set(JSON.stringify(of), stored)),
        consume: (of: object) => {
          const stored = challenges.get(JSON.stringify(of)) ?? null;
          challenges.delete(JSON.stringify(of));
          return Promise.resolve(stored);
        },
      } as unknown as PasskeyChallengesRepository,
      {
        listOf: (_: unknown, userId: string) => Promise.resolve(passkeys.filter((each) => each.userId === userId)),
        findByCredentialId: (_: unknown, id: Buffer) =>
          Promise.resolve(passkeys.find(({ credentialId }) => credentialId.equals(id)) ?? null),
        recordUse: (_: unknown, { counter }: { counter: number }) => Promise.resolve(counter > 0),
      } as unknown as PasskeysRepository,
    );
  });

  /** Registers a passkey of a new user. */
  const register = async (): Promise<Passkey> => {
    const userId = randomUUID();
    const options = await webauthn.createRegistrationOptions({ id: userId, email: 'a@b.test', name: 'A' }, []);
    const response = readRegistration(authenticator.create(options));
    const verified = response && (await webauthn.verifyRegistration(response, options.challenge));
    if (!verified) throw new Error('not registered');
    const passkey = { ...verified, id: randomUUID(), userId, name: 'Key', lastUsedAt: null, createdAt: new Date() };
    passkeys.push(passkey);
    return passkey;
  };

  describe('of a known user', () => {
    const prove = async (userId: string, overrides: CeremonyOverrides = {}) =>
      service.verify(db, ceremony, userId, authenticator.get(await service.start(db, ceremony, userId), overrides));

    it('offers the passkeys of the user and verifies the response, also without a user handle', async () => {
      const { id, userId, credentialId } = await register();
      const { allowCredentials } = await service.start(db, ceremony, userId);
      expect(allowCredentials).toMatchObject([{ id: credentialId.toString('base64url') }]);
      expect(await prove(userId, { counter: 5 })).toEqual({ passkeyId: id, counter: 5, backedUp: false });
      expect(await prove(userId, { userHandle: null })).not.toBeNull();
    });

    it('starts nothing for a user without passkeys', async () => {
      await expect(service.start(db, ceremony, randomUUID())).rejects.toThrow(PasskeyNotAvailable);
      expect(challenges.size).toBe(0);
    });

    it('accepts one response to a challenge', async () => {
      const { userId } = await register();
      const credential = authenticator.get(await service.start(db, ceremony, userId));
      const uses = await Promise.all([1, 2, 3].map(() => service.verify(db, ceremony, userId, credential)));
      expect(uses.filter((use) => use !== null)).toHaveLength(1);
    });

    it('uses the challenge up also by a malformed response', async () => {
      const { userId } = await register();
      const credential = authenticator.get(await service.start(db, ceremony, userId));
      expect(await service.verify(db, ceremony, userId, {})).toBeNull();
      expect(await service.verify(db, ceremony, userId, credential)).toBeNull();
    });

    it.each<[string, CeremonyOverrides]>([
      ['with the handle of another user', { userHandle: userHandleOf(randomUUID()) }],
      ['of another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
      ['of another origin', { origin: 'https://evil.test' }],
      ['without user verification', { userVerified: false }],
    ])('refuses a response %s', async (_title, overrides) => {
      const { userId } = await register();
      expect(await prove(userId, overrides)).toBeNull();
    });

    it('refuses the passkey of another user, and a challenge of another ceremony', async () => {
      const { userId } = await register();
      const options = await service.start(db, ceremony, userId);
      const other = await register();
      const foreign = authenticator.get({ ...options, allowCredentials: undefined });
      expect(foreign.id).toBe(other.credentialId.toString('base64url'));
      expect(await service.verify(db, ceremony, userId, foreign)).toBeNull();
      const credential = authenticator.get(await service.start(db, ceremony, userId));
      const login: UserCeremony = { purpose: 'second-factor', tempToken: 'token' };
      expect(await service.verify(db, login, userId, credential)).toBeNull();
    });
  });

  describe('of a user who is not known', () => {
    const signIn = async (overrides: CeremonyOverrides = {}) =>
      service.verifySignIn(db, authenticator.get(await service.startSignIn(), overrides));

    it('names no passkey, and says which one signed', async () => {
      const passkey = await register();
      expect((await service.startSignIn()).allowCredentials).toBeUndefined();
      expect(await signIn()).toMatchObject({ passkey, use: { passkeyId: passkey.id } });
    });

    it.each<[string, CeremonyOverrides]>([
      ['without a user handle', { userHandle: null }],
      ['with the handle of another user', { userHandle: userHandleOf(randomUUID()) }],
      ['of another origin', { origin: 'https://evil.test' }],
    ])('refuses a response %s and says whose passkey it is', async (_title, overrides) => {
      const { userId } = await register();
      expect(await signIn(overrides)).toEqual({ refusal: 'assertion', userId });
    });

    it('says why a response is refused before any passkey is known', async () => {
      await register();
      const unknown = { userId: null };
      expect(await service.verifySignIn(db, {})).toEqual({ refusal: 'malformed', ...unknown });
      expect(await signIn({ crossOrigin: true })).toEqual({ refusal: 'malformed', ...unknown });
      const never = { challenge: Buffer.alloc(32).toString('base64url') };
      expect(await signIn(never)).toEqual({ refusal: 'challenge', ...unknown });
      passkeys = [];
      expect(await signIn()).toEqual({ refusal: 'unknown_credential', ...unknown });
    });

    it('accepts one response to a challenge', async () => {
      await register();
      const credential = authenticator.get(await service.startSignIn());
      const results = await Promise.all([1, 2, 3].map(() => service.verifySignIn(db, credential)));
      expect(results.filter((result) => 'use' in result)).toHaveLength(1);
      expect(results).toContainEqual({ refusal: 'challenge', userId: null });
    });
  });

  it('reports whether the counter of a use rose', async () => {
    const use = { passkeyId: 'id', counter: 1, backedUp: false };
    expect(await service.recordUse(db, use)).toBe(true);
    expect(await service.recordUse(db, { ...use, counter: 0 })).toBe(false);
  });
});
