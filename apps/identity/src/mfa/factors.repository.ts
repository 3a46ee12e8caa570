import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { User } from '../users/user.js';

export type Epochs = Pick<User, 'authEpoch' | 'mfaEpoch'>;

const EPOCHS = `auth_epoch as "authEpoch", mfa_epoch as "mfaEpoch"`;

/** TOTP secrets (sealed) and recovery codes (hashed) of one user. */
@Injectable()
export class FactorsRepository {
  async findTotp(tx: SqlExecutor, userId: string): Promise<string | null> {
    const [row] = await tx.query<{ sealed: string }>(
      'select secret_sealed as sealed from totp_factor where user_id = $1',
      [userId],
    );
    return row?.sealed ?? null;
  }

  async hasTotp(tx: SqlExecutor, userId: string): Promise<boolean> {
    return (await this.findTotp(tx, userId)) !== null;
  }

  /** False when a factor stands already. */
  async insertTotp(tx: SqlExecutor, userId: string, sealed: string): Promise<boolean> {
    const rows = await tx.query(
      'insert into totp_factor (user_id, secret_sealed) values ($1, $2) on conflict do nothing returning user_id',
      [userId, sealed],
    );
    return rows.length === 1;
  }

  async replaceRecoveryCodes(tx: SqlExecutor, userId: string, hashes: Buffer[]): Promise<void> {
    await tx.query('delete from recovery_code where user_id = $1', [userId]);
    await tx.query('insert into recovery_code (user_id, code_hash) select $1, unnest($2::bytea[])', [userId, hashes]);
  }

  async hasRecoveryCode(tx: SqlExecutor, userId: string, hash: Buffer): Promise<boolean> {
    const rows = await tx.query('select 1 as one from recovery_code where user_id = $1 and code_hash = $2', [
      userId,
      hash,
    ]);
    return rows.length === 1;
  }

  /** Uses one code up: true for exactly one caller. */
  async useRecoveryCode(tx: SqlExecutor, userId: string, hash: Buffer): Promise<boolean> {
    const rows = await tx.query('delete from recovery_code where user_id = $1 and code_hash = $2 returning user_id', [
      userId,
      hash,
    ]);
    return rows.length === 1;
  }

  /** Marks the account as protected and retires every session (`mep`). @returns the new epochs */
  async markEnabled(tx: SqlExecutor, userId: string, method: 'totp'): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `update user_account
       set mfa_enabled = true, mfa_method = $2, mfa_epoch = mfa_epoch + 1,
         first_factor_at = coalesce(first_factor_at, now()), updated_at = now()
       where id = $1 and status = 'active'
       returning ${EPOCHS}`,
      [userId, method],
    );
    return row ?? null;
  }

  /**
   * Removes every factor with phone and recovery codes, and retires every session (`mep`). That a factor was once held
   * stays known.
   * @param mfaEpoch  as it was read: of two changes at once one wins
   * @returns the new epochs, or null when the account was changed meanwhile
   */
  async clear(tx: SqlExecutor, userId: string, mfaEpoch: number): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `update user_account
       set mfa_enabled = false, mfa_method = null, phone_number = null, phone_verified = false,
         mfa_epoch = mfa_epoch + 1, updated_at = now()
       where id = $1 and mfa_epoch = $2 and mfa_enabled
       returning ${EPOCHS}`,
      [userId, mfaEpoch],
    );
    if (!row) return null;
    await tx.query('delete from totp_factor where user_id = $1', [userId]);
    await tx.query('delete from recovery_code where user_id = $1', [userId]);
    return row;
  }

  /** Retires every session of an account with a factor, as `clear` does. @returns the new epochs, or null */
  async moveEpoch(tx: SqlExecutor, userId: string, mfaEpoch: number): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `update user_account set mfa_epoch = mfa_epoch + 1, updated_at = now()
       where id = $1 and mfa_epoch = $2 and mfa_enabled
       returning ${EPOCHS}`,
      [userId, mfaEpoch],
    );
    return row ?? null;
  }
}

/** Where a sealed TOTP secret belongs. */
export const totpSealContext = (userId: string) => `totp_factor.secret:${userId}`;
