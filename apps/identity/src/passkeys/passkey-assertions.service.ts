import { Injectable } from '@nestjs/common';
import type { AuthenticationResponseJSON, PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { Source, SqlExecutor } from '@rmm/persistence';
import { PasskeyNotAvailable } from '../mfa/mfa.errors.js';
import { type Ceremony, PasskeyChallengesRepository } from './passkey-challenges.repository.js';
import type { Passkey } from './passkey.entity.js';
import { PasskeysRepository, type PasskeyUse } from './passkeys.repository.js';
import { readAssertion, readChallenge } from './webauthn-credential.js';
import { userHandleOf, WebAuthnService } from './webauthn.service.js';

/** The ceremonies of a user who is known before. */
export type UserCeremony = Exclude<Ceremony, { purpose: 'sign-in' | 'registration' }>;

/** The reason for refusing a sign-in with a passkey; for the audit trail. */
export type AssertionRefusal = 'malformed' | 'challenge' | 'unknown_credential' | 'assertion';

export type SignInAssertion =
  { passkey: Passkey; use: PasskeyUse } | { refusal: AssertionRefusal; userId: string | null };

/**
 * Verifies that a user has one of its passkeys: as second factor, for a step-up, or to sign in with it alone. A
 * challenge is used up by the first response to it.
 */
@Injectable()
export class PasskeyAssertionsService {
  constructor(
    private readonly webauthn: WebAuthnService,
    private readonly challenges: PasskeyChallengesRepository,
    private readonly passkeys: PasskeysRepository,
  ) {}

  /** Creates a challenge for a known user. @throws PasskeyNotAvailable when it has no passkey */
  async start(source: Source, ceremony: UserCeremony, userId: string): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const passkeys = await this.passkeys.listOf(source, userId);
    if (passkeys.length === 0) throw new PasskeyNotAvailable();
    const options = await this.webauthn.createRequestOptions(passkeys);
    await this.challenges.save(ceremony, { challenge: options.challenge });
    return options;
  }

  /** Verifies a passkey of a known user. @returns null when it is not accepted */
  async verify(
    source: Source,
    ceremony: UserCeremony,
    userId: string,
    credential: Record<string, unknown>,
  ): Promise<PasskeyUse | null> {
    const stored = await this.challenges.consume(ceremony);
    const response = readAssertion(credential);
    if (!stored || !response) return null;
    const passkey = await this.find(source, response);
    if (!passkey || passkey.userId !== userId || !isHandleOf(passkey, response, 'optional')) return null;
    return this.webauthn.verifyAssertion(response, stored.challenge, passkey);
  }

  /** Creates a challenge for a user who is not known. It reveals nothing about any account. */
  async startSignIn(): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const options = await this.webauthn.createRequestOptions();
    const { challenge } = options;
    await this.challenges.save({ purpose: 'sign-in', challenge }, { challenge });
    return options;
  }

  /** Verifies a passkey that also says who its user is. */
  async verifySignIn(source: Source, credential: Record<string, unknown>): Promise<SignInAssertion> {
    const response = readAssertion(credential);
    const challenge = response && readChallenge(response);
    if (!response || challenge === null) return { refusal: 'malformed', userId: null };
    const stored = await this.challenges.consume({ purpose: 'sign-in', challenge });
    if (!stored) return { refusal: 'challenge', userId: null };
    const passkey = await this.find(source, response);
    if (!passkey) return { refusal: 'unknown_credential', userId: null };
    const isHandle = isHandleOf(passkey, response, 'required');
    const use = isHandle ? await this.webauthn.verifyAssertion(response, stored.challenge, passkey) : null;
    return use ? { passkey, use } : { refusal: 'assertion', userId: passkey.userId };
  }

  /** Stores the use, in the transaction of what it permits. @returns false when the counter did not rise */
  recordUse(tx: SqlExecutor, use: PasskeyUse): Promise<boolean> {
    return this.passkeys.recordUse(tx, use);
  }

  private find(source: Source, { id }: AuthenticationResponseJSON): Promise<Passkey | null> {
    return this.passkeys.findByCredentialId(source, Buffer.from(id, 'base64url'));
  }
}

/** A discoverable credential sends the user handle it was created with; others may leave it out. */
function isHandleOf(
  { userId }: Passkey,
  { response: { userHandle } }: AuthenticationResponseJSON,
  presence: 'required' | 'optional',
): boolean {
  return userHandle === undefined ? presence === 'optional' : userHandle === userHandleOf(userId);
}
