import { Inject, Injectable } from '@nestjs/common';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { Logger } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { User } from '../users/user.types.js';
import { ALGORITHMS, isStrongKey } from './cose-key.js';
import { CHALLENGE_TTL_SECONDS } from './passkey-challenges.repository.js';
import type { Passkey } from './passkey.entity.js';
import type { NewPasskey, PasskeyUse } from './passkeys.repository.js';
import { attestationFormat, readChallenge } from './webauthn-credential.js';

/** Formats that a client may send when no attestation is requested; the others are not parsed. */
const FORMATS = ['none', 'packed'];
const TIMEOUT = CHALLENGE_TTL_SECONDS * 1_000;

export type VerifiedCredential = Pick<
  NewPasskey,
  'credentialId' | 'publicKey' | 'counter' | 'deviceType' | 'backedUp' | 'transports'
>;

/**
 * Creates the options of WebAuthn and verifies the responses of authenticators: challenge, origin, relying party, user
 * presence and verification, signature and backup flags. The caller compares signature counters when it stores a use.
 */
@Injectable()
export class WebAuthnService {
  constructor(
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  createRegistrationOptions(
    user: Pick<User, 'id' | 'email' | 'name'>,
    existing: readonly Passkey[],
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    return generateRegistrationOptions({
      rpName: this.config.webauthn.rpName,
      rpID: this.config.webauthn.rpId,
      userID: userHandleBytes(user.id),
      userName: user.email,
      userDisplayName: user.name,
      timeout: TIMEOUT,
      attestationType: 'none',
      excludeCredentials: existing.map(toDescriptor),
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      supportedAlgorithmIDs: ALGORITHMS,
    });
  }

  /** @param allowed  the passkeys of a known user; the authenticator offers those it has when absent */
  createRequestOptions(allowed?: readonly Passkey[]): Promise<PublicKeyCredentialRequestOptionsJSON> {
    return generateAuthenticationOptions({
      rpID: this.config.webauthn.rpId,
      allowCredentials: allowed?.map(toDescriptor),
      timeout: TIMEOUT,
      userVerification: 'required',
    });
  }

  /** @returns null when the response is not acceptable; the reason is logged */
  async verifyRegistration(response: RegistrationResponseJSON, challenge: string): Promise<VerifiedCredential | null> {
    return this.refusing('registration', async () => {
      if (readChallenge(response) !== challenge) throw new Error('another challenge, or an embedded page');
      if (!FORMATS.includes(attestationFormat(response))) throw new Error('unsupported attestation format');
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        ...this.expected,
        supportedAlgorithmIDs: ALGORITHMS,
      });
      if (!verified) throw new Error('the attestation is not signed by the key');
      const { credential, credentialDeviceType, credentialBackedUp } = registrationInfo;
      if (credential.id !== response.id) throw new Error('another credential id than in the authenticator data');
      if (!isStrongKey(credential.publicKey)) throw new Error('unsupported or weak key');
      return {
        credentialId: Buffer.from(credential.id, 'base64url'),
        publicKey: Buffer.from(credential.publicKey),
        counter: credential.counter,
        deviceType: credentialDeviceType,
        backedUp: credentialBackedUp,
        transports: credential.transports ?? [],
      };
    });
  }

  /** @returns null when the response is not acceptable; the reason is logged */
  async verifyAssertion(
    response: AuthenticationResponseJSON,
    challenge: string,
    passkey: Passkey,
  ): Promise<PasskeyUse | null> {
    return this.refusing('assertion', async () => {
      if (readChallenge(response) !== challenge) throw new Error('another challenge, or an embedded page');
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        ...this.expected,
        // Counter 0 leaves the comparison to the statement that stores the use.
        credential: { id: response.id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
      });
      if (!verified) throw new Error('wrong signature');
      const { newCounter, credentialDeviceType, credentialBackedUp } = authenticationInfo;
      if (credentialDeviceType !== passkey.deviceType) throw new Error('the backup eligibility changed');
      return { passkeyId: passkey.id, counter: newCounter, backedUp: credentialBackedUp };
    });
  }

  private get expected() {
    const { rpId, origins } = this.config.webauthn;
    return { expectedRPID: rpId, expectedOrigin: [...origins], requireUserVerification: true };
  }

  /** The library throws for every response that is not acceptable. */
  private async refusing<T>(ceremony: string, verify: () => Promise<T>): Promise<T | null> {
    try {
      return await verify();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.logger.debug({ ceremony, reason }, 'response of an authenticator refused; the user may start again');
      return null;
    }
  }
}

const toDescriptor = ({ credentialId, transports }: Passkey) => ({
  id: credentialId.toString('base64url'),
  transports,
});

/** Returns what authenticators store as the user: the 16 bytes of the id, which reveal nothing about the user. */
const userHandleBytes = (userId: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(userId.replaceAll('-', ''), 'hex'));

/** Returns the user handle in the form of responses. */
export const userHandleOf = (userId: string): string => Buffer.from(userHandleBytes(userId)).toString('base64url');
