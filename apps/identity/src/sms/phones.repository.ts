import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { Epochs } from '../mfa/mfa.repository.js';

const EPOCHS = `auth_epoch AS "authEpoch", mfa_epoch AS "mfaEpoch"`;

/** Phone numbers of accounts. Each statement changes an account by a condition, so that concurrent changes do not mix. */
@Injectable()
export class PhonesRepository {
  /**
   * Stores a verified number; that of an active SMS factor changes the factor, which ends every session.
   * @param mfaEpoch  as it was read
   * @returns the epochs; null when the factors were changed since
   */
  async store(
    tx: SqlExecutor,
    userId: string,
    { phoneNumber, changesFactor, mfaEpoch }: { phoneNumber: string; changesFactor: boolean; mfaEpoch: number },
  ): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `UPDATE user_account
       SET phone_number = :phoneNumber, phone_verified = TRUE, updated_at = now(),
         mfa_epoch = mfa_epoch + CASE WHEN :changesFactor THEN 1 ELSE 0 END
       WHERE id = :userId AND mfa_epoch = :mfaEpoch AND status = 'active'
       RETURNING ${EPOCHS}`,
      { userId, phoneNumber, changesFactor, mfaEpoch },
    );
    return row ?? null;
  }

  /**
   * Makes SMS the active factor of an account whose verified number is still this one; ends every session.
   * @returns the new epochs; null when number or factors were changed since
   */
  async enableSms(
    tx: SqlExecutor,
    userId: string,
    { phoneNumber, mfaEpoch }: { phoneNumber: string; mfaEpoch: number },
  ): Promise<Epochs | null> {
    const [row] = await tx.query<Epochs>(
      `UPDATE user_account
       SET mfa_enabled = TRUE, mfa_method = 'sms', mfa_epoch = mfa_epoch + 1,
         first_factor_at = coalesce(first_factor_at, now()), updated_at = now()
       WHERE id = :userId AND mfa_epoch = :mfaEpoch AND status = 'active'
         AND phone_verified AND phone_number = :phoneNumber
       RETURNING ${EPOCHS}`,
      { userId, phoneNumber, mfaEpoch },
    );
    return row ?? null;
  }
}
