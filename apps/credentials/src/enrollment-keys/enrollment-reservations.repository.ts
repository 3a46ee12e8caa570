import { Injectable } from '@nestjs/common';
import { Not } from 'typeorm';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { EnrollmentReservation } from './enrollment-reservation.entity.js';

/** An enrollment key as an agent's request finds it. */
export interface UsableKey {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  keyHash: Buffer;
  secretHash: Buffer | null;
  expired: boolean;
  exhausted: boolean;
}

const RETENTION_DAYS = 7;

/** Reservations of uses of enrollment keys. SQL, because one statement decides each race for the last use. */
@Injectable()
export class EnrollmentReservationsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Finds the key with one of these hashes (SHA-256 under the current or a legacy pepper). */
  async findKey(tx: WorkerTransaction, keyHashes: readonly string[]): Promise<UsableKey | null> {
    const [key] = await tx.query<UsableKey>(
      `SELECT id, org_id AS "orgId", partner_id AS "partnerId", site_id AS "siteId", key_hash AS "keyHash",
         secret_hash AS "secretHash", expires_at <= now() AS expired,
         max_usage IS NOT NULL AND usage_count >= max_usage AS exhausted
       FROM enrollment_key WHERE key_hash = ANY(:keyHashes::bytea[])`,
      { keyHashes: toBytes(keyHashes) },
    );
    return key ?? null;
  }

  isReserved(tx: WorkerTransaction, deviceId: string, enrollmentKeyId: string): Promise<boolean> {
    return tx.repository(EnrollmentReservation).existsBy({ deviceId, enrollmentKeyId, state: Not('released') });
  }

  /** Takes one use of a key that was not rotated since it was read. @returns false when no use is left */
  async reserve(
    tx: WorkerTransaction,
    keyId: string,
    keyHashes: readonly string[],
    deviceId: string,
  ): Promise<boolean> {
    const rows = await tx.query(
      `WITH taken AS (
         UPDATE enrollment_key SET usage_count = usage_count + 1
         WHERE id = :keyId AND key_hash = ANY(:keyHashes::bytea[])
           AND expires_at > now() AND (max_usage IS NULL OR usage_count < max_usage)
         RETURNING id, generation
       )
       INSERT INTO enrollment_reservation (device_id, enrollment_key_id, generation)
       SELECT :deviceId, id, generation FROM taken RETURNING device_id`,
      { keyId, keyHashes: toBytes(keyHashes), deviceId },
    );
    return rows.length > 0;
  }

  /** Keeps the use. @returns false when nothing was reserved for this device */
  async confirm(deviceId: string): Promise<boolean> {
    const rows = await this.worker.query(
      `UPDATE enrollment_reservation SET state = 'confirmed', settled_at = now()
       WHERE device_id = :deviceId AND state = 'reserved' RETURNING device_id`,
      { deviceId },
    );
    return rows.length > 0;
  }

  /** Returns the use to the key unless it was rotated since. @returns false when nothing was reserved for this device */
  async release(deviceId: string): Promise<boolean> {
    const rows = await this.worker.query(
      `WITH released AS (
         UPDATE enrollment_reservation SET state = 'released', settled_at = now()
         WHERE device_id = :deviceId AND state = 'reserved' RETURNING enrollment_key_id, generation
       ), returned AS (
         UPDATE enrollment_key k SET usage_count = greatest(k.usage_count - 1, 0)
         FROM released r WHERE k.id = r.enrollment_key_id AND k.generation = r.generation
       )
       SELECT enrollment_key_id FROM released`,
      { deviceId },
    );
    return rows.length > 0;
  }

  /**
   * Confirms the reservations of devices that exist. Those that another process settles at the same time are left to it.
   * @returns how many were confirmed
   */
  async confirmAll(deviceIds: readonly string[]): Promise<number> {
    const rows = await this.worker.query(
      `UPDATE enrollment_reservation SET state = 'confirmed', settled_at = now()
       WHERE device_id IN (
         SELECT device_id FROM enrollment_reservation WHERE device_id = ANY (:deviceIds::uuid[]) AND state = 'reserved'
         ORDER BY device_id FOR UPDATE SKIP LOCKED
       ) RETURNING device_id`,
      { deviceIds },
    );
    return rows.length;
  }

  /**
   * Releases the reservations of devices that do not exist, and returns their uses to keys that were not rotated since.
   * Locks in order of id, and leaves what another process settles at the same time to it.
   * @returns how many were released
   */
  async releaseAll(deviceIds: readonly string[]): Promise<number> {
    const rows = await this.worker.query(
      `WITH open AS (
         SELECT device_id FROM enrollment_reservation WHERE device_id = ANY (:deviceIds::uuid[]) AND state = 'reserved'
         ORDER BY device_id FOR UPDATE SKIP LOCKED
       ), released AS (
         UPDATE enrollment_reservation r SET state = 'released', settled_at = now()
         FROM open WHERE r.device_id = open.device_id RETURNING r.enrollment_key_id, r.generation
       ), uses AS (
         SELECT enrollment_key_id AS id, generation, count(*)::integer AS count FROM released
         GROUP BY enrollment_key_id, generation
       ), locked AS (
         SELECT id FROM enrollment_key WHERE id IN (SELECT id FROM uses) ORDER BY id FOR UPDATE
       ), returned AS (
         UPDATE enrollment_key k SET usage_count = greatest(k.usage_count - u.count, 0)
         FROM uses u JOIN locked USING (id) WHERE k.id = u.id AND k.generation = u.generation
       )
       SELECT enrollment_key_id FROM released`,
      { deviceIds },
    );
    return rows.length;
  }

  /** Stores the hash under the current pepper unless the key was rotated since it was read. */
  async rehash(tx: WorkerTransaction, key: UsableKey, currentHash: string): Promise<void> {
    await tx.query('UPDATE enrollment_key SET key_hash = :keyHash WHERE id = :id AND key_hash = :previousHash', {
      id: key.id,
      keyHash: Buffer.from(currentHash, 'hex'),
      previousHash: key.keyHash,
    });
  }

  /** Lists devices whose reservation is older than this and not settled, oldest first. */
  async listUnsettled(olderThanSeconds: number, limit: number): Promise<string[]> {
    const rows = await this.worker.query<{ deviceId: string }>(
      `SELECT device_id AS "deviceId" FROM enrollment_reservation
       WHERE state = 'reserved' AND reserved_at < now() - make_interval(secs => :olderThanSeconds)
       ORDER BY reserved_at LIMIT :limit`,
      { olderThanSeconds, limit },
    );
    return rows.map((row) => row.deviceId);
  }

  /** Deletes reservations that were settled more than a week ago, oldest first. @returns how many were deleted */
  async deleteSettled(limit: number): Promise<number> {
    const rows = await this.worker.query(
      `DELETE FROM enrollment_reservation WHERE device_id IN (
         SELECT device_id FROM enrollment_reservation WHERE settled_at < now() - make_interval(days => :days)
         ORDER BY settled_at LIMIT :limit FOR UPDATE SKIP LOCKED
       ) RETURNING device_id`,
      { days: RETENTION_DAYS, limit },
    );
    return rows.length;
  }
}

function toBytes(hashes: readonly string[]): Buffer[] {
  return hashes.map((hash) => Buffer.from(hash, 'hex'));
}
