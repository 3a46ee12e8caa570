import { Inject, Injectable } from '@nestjs/common';
import type { RotateSigningKeyReply } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { SYSTEM_CALLER } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { SigningKeysConfigured } from './signing-key.errors.js';
import { createSigningKey } from './signing-key.js';
import { SigningKeysRepository } from './signing-keys.repository.js';
import { SigningKeys } from './signing-keys.service.js';

/** Rotates the signing key at the request of an operator. */
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
   * Publishes a new key, which signs once every verifier can know it. Sessions continue: tokens of the older key stay valid
   * until they expire.
   * @throws SigningKeysConfigured
   */
  async rotate(): Promise<RotateSigningKeyReply> {
    if (this.config.signing) throw new SigningKeysConfigured();
    const key = await createSigningKey(this.keyRing);
    const reply = await this.worker.transaction(async (tx) => {
      const retiring = await this.repository.replaceNewest(tx, key);
      if (!retiring) throw new SigningKeysConfigured();
      const details = { replaces: retiring.kid, signsFrom: retiring.at.toISOString() };
      await this.audit.record(tx, SYSTEM_CALLER, 'signing_key.rotate', { type: 'signing_key', id: key.kid }, details);
      return { kid: key.kid, ...details };
    });
    await this.signingKeys.reload();
    return reply;
  }
}
