import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';

/** TOTP secrets (sealed) and recovery codes (hashed) of one person. */
@Injectable()
export class FactorsRepository {
  async findTotp(tx: SqlExecutor, userId: string): Promise<string | null> {
    const [row] = await tx.query<{ sealed: string }>(
      'select secret_sealed as sealed from totp_factor where user_id = $1',
      [userId],
    );
    return row?.sealed ?? null;
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
  async markEnabled(
    tx: SqlExecutor,
    userId: string,
    method: 'totp',
  ): Promise<{ authEpoch: number; mfaEpoch: number } | null> {
    const [row] = await tx.query<{ authEpoch: number; mfaEpoch: number }>(
      `update user_account
       set mfa_enabled = true, mfa_method = $2, mfa_epoch = mfa_epoch + 1,
         first_factor_at = coalesce(first_factor_at, now()), updated_at = now()
       where id = $1 and status = 'active'
       returning auth_epoch as "authEpoch", mfa_epoch as "mfaEpoch"`,
      [userId, method],
    );
    return row ?? null;
  }
}

/** Where a sealed TOTP secret belongs. */
export const totpSealContext = (userId: string) => `totp_factor.secret:${userId}`;
