import { Inject, Injectable } from '@nestjs/common';
import type { RotateSigningKeyReply } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { ConflictError } from '@rmm/service-kit';
import { SYSTEM_CALLER } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { newSigningKey } from './new-signing-key.js';
import { SigningKeysRepository } from './signing-keys.repository.js';
import { SigningKeys } from './signing-keys.service.js';

export class SigningKeysConfigured extends ConflictError {
  override code = 'signing_keys_configured';
  override error = 'The signing keys come from JWT_SIGNING_KEYRING: rotate them there';
}

/** A new signing key on an operator's word. */
@Injectable()
export class SigningKeyRotation {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: SigningKeysRepository,
    private readonly signingKeys: SigningKeys,
    private readonly keyRing: KeyRing,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Publishes a new key now and lets it sign once everybody can know it. Sessions are not touched: what the older key
   * signed stays good for as long as it would have been.
   * @throws SigningKeysConfigured
   */
  async rotate(): Promise<RotateSigningKeyReply> {
    if (this.config.signing) throw new SigningKeysConfigured();
    const key = await newSigningKey(this.keyRing);
    const reply = await this.worker.transaction(async (tx) => {
      const retiring = await this.repository.succeed(tx, key);
      if (!retiring) throw new SigningKeysConfigured();
      const details = { replaces: retiring.kid, signsFrom: retiring.at.toISOString() };
      await this.audit.record(tx, SYSTEM_CALLER, 'signing_key.rotate', { type: 'signing_key', id: key.kid }, details);
      return { kid: key.kid, ...details };
    });
    await this.signingKeys.reload();
    return reply;
  }
}
