import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { DEFAULT_GRACE_DAYS, MAX_GRACE_DAYS } from './mfa-policy.js';

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

/** Enrollment windows of users whose role requires a factor. SQL, because windows are granted once by the database clock. */
@Injectable()
export class MfaEnrollmentRepository {
  /** Opens the window of a user who has none and never had a factor, else returns the stored one. */
  async open(tx: SqlExecutor, userId: string, days: number): Promise<EnrollmentWindow> {
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
