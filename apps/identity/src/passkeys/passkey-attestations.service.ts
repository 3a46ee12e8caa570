import { Injectable } from '@nestjs/common';
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/server';
import type { UserCaller } from '@rmm/access';
import { currentContext } from '@rmm/service-kit';
import { deviceName } from '../sessions/device-name.js';
import type { User } from '../users/user.types.js';
import { PasskeyChallengesRepository } from './passkey-challenges.repository.js';
import { MAX_PASSKEYS } from './passkey-factors.service.js';
import { TooManyPasskeys } from './passkey.errors.js';
import { PasskeysRepository } from './passkeys.repository.js';
import { readRegistration } from './webauthn-credential.js';
import { WebAuthnService, type VerifiedCredential } from './webauthn.service.js';

export interface VerifiedRegistration {
  credential: VerifiedCredential;
  /** The requested name, else that of browser and operating system. */
  name: string;
}

/** Creates the challenge for a new passkey of a session, and verifies the response of the authenticator to it. */
@Injectable()
export class PasskeyAttestationsService {
  constructor(
    private readonly webauthn: WebAuthnService,
    private readonly challenges: PasskeyChallengesRepository,
    private readonly passkeys: PasskeysRepository,
  ) {}

  /** @throws TooManyPasskeys */
  async start(caller: UserCaller, user: User, name?: string): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const existing = await this.passkeys.listOf(caller, user.id);
    if (existing.length >= MAX_PASSKEYS) throw new TooManyPasskeys();
    const options = await this.webauthn.createRegistrationOptions(user, existing);
    await this.challenges.save(ceremonyOf(caller), { challenge: options.challenge, name });
    return options;
  }

  /** Verifies a response and uses up the challenge. @returns null when it is not accepted */
  async verify(caller: UserCaller, credential: Record<string, unknown>): Promise<VerifiedRegistration | null> {
    const stored = await this.challenges.consume(ceremonyOf(caller));
    const response = readRegistration(credential);
    if (!stored || !response) return null;
    const verified = await this.webauthn.verifyRegistration(response, stored.challenge);
    return verified && { credential: verified, name: stored.name ?? deviceName(currentContext()?.userAgent) };
  }
}

const ceremonyOf = ({ userId, sessionId }: UserCaller) => ({ purpose: 'registration', userId, sessionId }) as const;
