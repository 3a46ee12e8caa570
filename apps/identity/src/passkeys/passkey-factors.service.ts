import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { UnauthenticatedError } from '@rmm/service-kit';
import { MfaFactorsService } from '../mfa/mfa-factors.service.js';
import { MfaRepository } from '../mfa/mfa.repository.js';
import { newRecoveryCodes } from '../mfa/recovery-codes.js';
import type { IssuedSession, SessionUser } from '../sessions/sessions.service.js';
import type { Passkey } from './passkey.entity.js';
import { TooManyPasskeys } from './passkey.errors.js';
import { PasskeysRepository, type NewPasskey } from './passkeys.repository.js';

/** Passkeys of a user. */
export const MAX_PASSKEYS = 20;

export interface RegisteredPasskey {
  passkey: Passkey;
  session: IssuedSession;
  /** With the first factor of the account. */
  recoveryCodes?: string[];
}

/** Stores a new passkey as a factor of its user. */
@Injectable()
export class PasskeyFactorsService {
  constructor(
    private readonly repository: PasskeysRepository,
    private readonly accounts: MfaRepository,
    private readonly factors: MfaFactorsService,
  ) {}

  /**
   * A first factor comes with recovery codes; it is the primary method only where there is no other.
   * @throws TooManyPasskeys; UnauthenticatedError when the session has ended or the factors were changed since; a
   *   unique violation of `passkey_credential_key`
   */
  async add(
    caller: UserCaller,
    owner: SessionUser,
    credential: Omit<NewPasskey, 'userId'>,
  ): Promise<RegisteredPasskey> {
    const { id: userId, email, name, mfaEnabled } = owner.user;
    const recoveryCodes = mfaEnabled ? undefined : newRecoveryCodes();
    const stored: Passkey[] = [];
    const session = await this.factors.add(caller, owner, {
      method: 'passkey',
      proven: true,
      recoveryCodes,
      audit: { action: 'auth.mfa.passkey.register', details: { passkeyName: credential.name } },
      mail: { to: email, template: 'passkey-added', values: { name, passkeyName: credential.name } },
      store: async (tx) => {
        // Locks the account, so that concurrent registrations count one after the other.
        const epochs = await this.accounts.markEnabled(tx, userId, 'passkey');
        if (!epochs) throw new UnauthenticatedError();
        if ((await this.repository.countOf(tx, userId)) >= MAX_PASSKEYS) throw new TooManyPasskeys();
        stored.push(await this.repository.add(tx, { ...credential, userId }));
        return epochs;
      },
    });
    const passkey = stored.at(-1);
    if (!passkey) throw new Error('the passkey was not stored');
    return { passkey, session, recoveryCodes };
  }
}
