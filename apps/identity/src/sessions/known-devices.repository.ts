import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';

/** Devices of users, under the worker login. SQL, because each statement decides and writes in one step. */
@Injectable()
export class KnownDevicesRepository {
  /**
   * Stores a device or the time it was seen again.
   * @returns true when the device is new and the user has another one; for one of several concurrent sign-ins only
   */
  async remember(tx: SqlExecutor, userId: string, fingerprint: Buffer): Promise<boolean> {
    const [row] = await tx.query<{ isNew: boolean }>(
      `WITH seen AS (
         INSERT INTO known_device AS k (user_id, fingerprint) VALUES (:userId, :fingerprint)
         ON CONFLICT (user_id, fingerprint) DO UPDATE SET last_seen_at = now()
         RETURNING k.first_seen_at = now() AS is_new
       )
       SELECT is_new AND EXISTS (
         SELECT FROM known_device d WHERE d.user_id = :userId AND d.fingerprint <> :fingerprint
       ) AS "isNew" FROM seen`,
      { userId, fingerprint },
    );
    return row?.isNew ?? false;
  }

  /** Deletes up to `limit` devices that were not seen for 400 days. */
  async purgeUnused(db: SqlExecutor, limit: number): Promise<void> {
    await db.query(
      `DELETE FROM known_device WHERE (user_id, fingerprint) IN (
         SELECT user_id, fingerprint FROM known_device WHERE last_seen_at < now() - INTERVAL '400 days' LIMIT :limit)`,
      { limit },
    );
  }
}
