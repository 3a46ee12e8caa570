import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { Transaction } from '../transaction.js';
import type { User } from '../users/user.js';
import { RecoveryCode } from './recovery-code.entity.js';
import { TotpFactor } from './totp-factor.entity.js';

export type Epochs = Pick<User, 'authEpoch' | 'mfaEpoch'>;

const EPOCHS = `auth_epoch AS "authEpoch", mfa_epoch AS "mfaEpoch"`;

/** Factors and recovery codes of users. The statements on accounts are SQL: each moves an epoch by a condition. */
@Injectable()
export class MfaFactorsRepository {
  /** Returns the sealed secret of the user's authenticator app. */
  async findTotpSecret(db: SqlExecutor, userId: string): Promise<string | null> {
    const [row] = await db.query<{ sealed: string }>(
      'SELECT secret_sealed AS sealed FROM totp_factor WHERE user_id = :userId',
      { userId },
    );
    return row?.sealed ?? null;
  }

  async hasTotp(db: SqlExecutor, userId: string): Promise<boolean> {
    return (await this.findTotpSecret(db, userId)) !== null;
  }

  /** @returns false when the user has an authenticator app already */
  async insertTotp(tx: SqlExecutor, userId: string, sealed: string): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO totp_factor (user_id, secret_sealed) VALUES (:userId, :sealed)
       ON CONFLICT DO NOTHING RETURNING user_id`,
      { userId, sealed },
    );
    return rows.length === 1;
  }

  async replaceRecoveryCodes(tx: Transaction, userId: string, hashes: readonly Buffer[]): Promise<void> {
    const codes = tx.repository(RecoveryCode);
    await codes.delete({ userId });
    await codes.insert(hashes.map((codeHash) => ({ userId, codeHash })));
  }

  async hasRecoveryCode(db: SqlExecutor, userId: string, hash: Buffer): Promise<boolean> {
    const rows = await db.query('SELECT 1 AS one FROM recovery_code WHERE user_id = :userId AND code_hash = :hash', {
      userId,
      hash,
    });
    return rows.length === 1;
  }

  /** Deletes one code. @returns true for exactly one of concurrent callers */
  async useRecoveryCode(tx: Transaction, userId: string, hash: Buffer): Promise<boolean> {
    const { affected } = await tx.repository(RecoveryCode).delete({ userId, codeHash: hash });
    return affected === 1;
  }

  /** Marks the account as protected and invalidates every session. @returns the new epochs; null unless active */
  async markEnabled(tx: SqlExecutor, userId: string, method: 'totp'): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `UPDATE user_account
       SET mfa_enabled = TRUE, mfa_method = :method, mfa_epoch = mfa_epoch + 1,
         first_factor_at = coalesce(first_factor_at, now()), updated_at = now()
       WHERE id = :userId AND status = 'active'
       RETURNING ${EPOCHS}`,
      { userId, method },
    );
    return row ?? null;
  }

  /**
   * Deletes every factor with phone and recovery codes, and invalidates every session. `first_factor_at` stays.
   * @param mfaEpoch as it was read: of concurrent changes one succeeds
   * @returns the new epochs; null when the factors were changed since
   */
  async clear(tx: Transaction, userId: string, mfaEpoch: number): Promise<Epochs | null> {
    const [epochs] = await tx.query<Epochs>(
      `UPDATE user_account
       SET mfa_enabled = FALSE, mfa_method = NULL, phone_number = NULL, phone_verified = FALSE,
         mfa_epoch = mfa_epoch + 1, updated_at = now()
       WHERE id = :userId AND mfa_epoch = :mfaEpoch AND mfa_enabled
       RETURNING ${EPOCHS}`,
      { userId, mfaEpoch },
    );
    if (!epochs) return null;
    await tx.repository(TotpFactor).delete({ userId });
    await tx.repository(RecoveryCode).delete({ userId });
    return epochs;
  }

  /**
   * Invalidates every session of an account with a factor.
   * @param mfaEpoch as it was read: of concurrent changes one succeeds
   * @returns the new epochs; null when the factors were changed since
   */
  async incrementEpoch(tx: SqlExecutor, userId: string, mfaEpoch: number): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `UPDATE user_account SET mfa_epoch = mfa_epoch + 1, updated_at = now()
       WHERE id = :userId AND mfa_epoch = :mfaEpoch AND mfa_enabled
       RETURNING ${EPOCHS}`,
      { userId, mfaEpoch },
    );
    return row ?? null;
  }
}

/** Returns the context that a TOTP secret is sealed for. */
export const totpSealContext = (userId: string) => `totp_factor.secret:${userId}`;
