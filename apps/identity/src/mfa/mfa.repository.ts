import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { Passkey } from '../passkeys/passkey.entity.js';
import type { Transaction } from '../transaction.js';
import type { User } from '../users/user.types.js';
import { DEFAULT_GRACE_DAYS, MAX_GRACE_DAYS } from './mfa.policy.js';
import { RecoveryCode } from './recovery-code.entity.js';
import { TotpFactor } from './totp-factor.entity.js';

export type Epochs = Pick<User, 'authEpoch' | 'mfaEpoch'>;

const EPOCHS = `auth_epoch AS "authEpoch", mfa_epoch AS "mfaEpoch"`;

/** The second reminder is sent this long before the end; a shorter window has only the first. */
export const REMINDER_DAYS = 3;

export interface EnrollmentWindow {
  /** True when this call opened the window. */
  opened: boolean;
  graceGrantedAt: Date | null;
  enrollmentDeadline: Date | null;
}

const WINDOW = `mfa_grace_granted_at AS "graceGrantedAt", mfa_enrollment_deadline AS "enrollmentDeadline"`;

/** The days that a partner's policy gives now, as `graceDays` computes them. */
const PARTNER_DAYS = `CASE WHEN jsonb_typeof(p.settings #> '{security,mfaEnrollmentGraceDays}') = 'number'
  THEN least(${MAX_GRACE_DAYS}, greatest(0, trunc((p.settings #>> '{security,mfaEnrollmentGraceDays}')::numeric)))::int
  ELSE ${DEFAULT_GRACE_DAYS} END`;

/**
 * Factors, recovery codes and enrollment windows of users. The statements on accounts are SQL: each moves an epoch by a
 * condition, or grants a window once by the database clock.
 */
@Injectable()
export class MfaRepository {
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

  /** Counts the unused recovery codes of a user. */
  async countRecoveryCodes(db: SqlExecutor, userId: string): Promise<number> {
    const [codes] = await db.query<{ left: number }>(
      'SELECT count(*)::integer AS left FROM recovery_code WHERE user_id = :userId',
      { userId },
    );
    return codes?.left ?? 0;
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

  /**
   * Marks the account as protected and invalidates every session. An authenticator app becomes the primary method, a
   * passkey only where there is no other. @returns the new epochs; null unless active
   */
  async markEnabled(tx: SqlExecutor, userId: string, method: 'totp' | 'passkey'): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `UPDATE user_account
       SET mfa_enabled = TRUE, mfa_epoch = mfa_epoch + 1,
         mfa_method = CASE WHEN :method = 'passkey' THEN coalesce(mfa_method, 'passkey') ELSE :method END,
         first_factor_at = coalesce(first_factor_at, now()), updated_at = now()
       WHERE id = :userId AND status = 'active'
       RETURNING ${EPOCHS}`,
      { userId, method },
    );
    return row ?? null;
  }

  /** Makes the authenticator app the primary method, after the last passkey is gone. */
  async setTotpPrimary(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query(`UPDATE user_account SET mfa_method = 'totp' WHERE id = :userId AND mfa_method = 'passkey'`, {
      userId,
    });
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
    await tx.repository(Passkey).delete({ userId });
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

  /** Opens the window of a user who has none and never had a factor, else returns the stored one. */
  async openWindow(tx: SqlExecutor, userId: string, days: number): Promise<EnrollmentWindow> {
    const [opened] = await tx.query<Omit<EnrollmentWindow, 'opened'>>(
      `UPDATE user_account
       SET mfa_grace_granted_at = now(), mfa_enrollment_deadline = now() + make_interval(days => :days),
         mfa_opening_mail_at = now(), mfa_ending_mail_at = CASE WHEN :days <= ${REMINDER_DAYS} THEN now() END
       WHERE id = :userId AND mfa_enrollment_deadline IS NULL AND first_factor_at IS NULL
       RETURNING ${WINDOW}`,
      { userId, days },
    );
    if (opened) return { opened: true, ...opened };
    const sql = `SELECT ${WINDOW} FROM user_account WHERE id = :userId`;
    const [stored] = await tx.query<Omit<EnrollmentWindow, 'opened'>>(sql, { userId });
    return {
      opened: false,
      graceGrantedAt: stored?.graceGrantedAt ?? null,
      enrollmentDeadline: stored?.enrollmentDeadline ?? null,
    };
  }

  /**
   * Lists users whose window may end soon by any of their memberships, in the order of their ids; the policy decides.
   * @param after the last id of the batch before
   */
  async listEndingSoon(db: SqlExecutor, after: string | null, limit: number): Promise<string[]> {
    const rows = await db.query<{ id: string }>(
      `SELECT u.id FROM user_account u
       WHERE u.first_factor_at IS NULL AND u.mfa_ending_mail_at IS NULL AND u.mfa_enrollment_deadline > now()
         AND u.status = 'active' AND (:after::uuid IS NULL OR u.id > :after)
         AND (u.mfa_enrollment_deadline <= now() + INTERVAL '${REMINDER_DAYS} days' OR EXISTS (
           SELECT FROM (
             SELECT partner_id FROM partner_membership WHERE user_id = u.id
             UNION ALL SELECT partner_id FROM organization_membership WHERE user_id = u.id
           ) m JOIN partner p ON p.id = m.partner_id
           WHERE u.mfa_grace_granted_at + make_interval(days => ${PARTNER_DAYS})
             <= now() + INTERVAL '${REMINDER_DAYS} days'))
       ORDER BY u.id LIMIT :limit`,
      { after, limit },
    );
    return rows.map(({ id }) => id);
  }

  /** Marks the reminder of a user as sent. @returns true for exactly one replica */
  async claimReminder(tx: SqlExecutor, userId: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE user_account SET mfa_ending_mail_at = now()
       WHERE id = :userId AND mfa_ending_mail_at IS NULL AND first_factor_at IS NULL RETURNING id`,
      { userId },
    );
    return rows.length === 1;
  }
}

/** Returns the context that a TOTP secret is sealed for. */
export const totpSealContext = (userId: string) => `totp_factor.secret:${userId}`;
