import type { Logger } from '@rmm/service-kit';
import { SoftwareAuthenticator } from '@rmm/testing/software-authenticator';
import { partnerCaller } from '../../test/callers.js';
import { buildConfig, buildUser } from '../../test/fakes.js';
import { PasskeyAttestationsService } from './passkey-attestations.service.js';
import type { PasskeyChallengesRepository, StoredChallenge } from './passkey-challenges.repository.js';
import { MAX_PASSKEYS } from './passkey-factors.service.js';
import type { Passkey } from './passkey.entity.js';
import { TooManyPasskeys } from './passkey.errors.js';
import type { PasskeysRepository } from './passkeys.repository.js';
import { WebAuthnService } from './webauthn.service.js';

const ORIGIN = 'https://app.test';

describe('PasskeyAttestationsService', () => {
  const authenticator = new SoftwareAuthenticator(ORIGIN);
  const user = buildUser();
  const caller = partnerCaller('partner', user.id);
  let existing: Passkey[];
  let challenges: Map<string, StoredChallenge>;
  let service: PasskeyAttestationsService;

  beforeEach(() => {
    [existing, challenges] = [[], new Map()];
    service = new PasskeyAttestationsService(
      new WebAuthnService(
        { debug: () => undefined } as unknown as Logger,
        buildConfig({ webauthn: { rpId: 'app.test', rpName: 'RMM', origins: [ORIGIN] } }),
      ),
      {
        save: (of: object, stored: StoredChallenge) => Promise.resolve(challenges.set(JSON.stringify(of), stored)),
        consume: (of: object) => {
          const stored = challenges.get(JSON.stringify(of)) ?? null;
          challenges.delete(JSON.stringify(of));
          return Promise.resolve(stored);
        },
      } as unknown as PasskeyChallengesRepository,
      { listOf: () => Promise.resolve(existing) } as unknown as PasskeysRepository,
    );
  });
  const passkey = (id: string) => ({ credentialId: Buffer.from(id), transports: ['usb'] }) as Passkey;

  it('verifies the response to its challenge and keeps the requested name', async () => {
    const options = await service.start(caller, user, 'Blue key');
    const created = authenticator.create(options);
    const verified = await service.verify(caller, created);
    expect(verified?.name).toBe('Blue key');
    expect(verified?.credential.credentialId.toString('base64url')).toBe(created.id);
  });

  it('names a passkey without a name for its device', async () => {
    const options = await service.start(caller, user);
    expect((await service.verify(caller, authenticator.create(options)))?.name).toEqual(expect.any(String));
  });

  it('excludes the passkeys that the user has', async () => {
    existing = [passkey('first')];
    const { excludeCredentials } = await service.start(caller, user);
    expect(excludeCredentials).toMatchObject([{ id: Buffer.from('first').toString('base64url') }]);
  });

  it('starts no registration above the limit', async () => {
    existing = Array.from({ length: MAX_PASSKEYS - 1 }, (_, n) => passkey(`${n}`));
    await service.start(caller, user);
    existing.push(passkey('last'));
    challenges.clear();
    await expect(service.start(caller, user)).rejects.toThrow(TooManyPasskeys);
    expect(challenges.size).toBe(0);
  });

  it('accepts one response to a challenge, of the session that asked for it', async () => {
    const created = authenticator.create(await service.start(caller, user));
    expect(await service.verify(partnerCaller('partner', user.id), created)).toBeNull();
    const results = await Promise.all([1, 2, 3].map(() => service.verify(caller, created)));
    expect(results.filter((result) => result !== null)).toHaveLength(1);
  });

  it('uses the challenge up by a response that is not accepted', async () => {
    const options = await service.start(caller, user);
    expect(await service.verify(caller, { id: 'malformed' })).toBeNull();
    expect(await service.verify(caller, authenticator.create(options))).toBeNull();
    const forged = authenticator.create(await service.start(caller, user), { origin: 'https://evil.test' });
    expect(await service.verify(caller, forged)).toBeNull();
    expect(challenges.size).toBe(0);
  });
});
