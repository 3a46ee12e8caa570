import { Injectable } from '@nestjs/common';
import type { EnrollmentRefusal, EnrollmentReserveReply, EnrollmentReserveRequest } from '@rmm/contracts';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';

interface UsableKey {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  keyHash: Buffer;
  secretHash: Buffer | null;
  expired: boolean;
  exhausted: boolean;
}

const RESERVATION_RETENTION_DAYS = 7;

/**
 * Uses of enrollment keys, taken before the device exists and settled after. A use counts at once; a reservation is
 * named by the device id, so a repeated request is the same use.
 * @see ARCHITECTURE.md 3, "Enrollment"; SPEC.md 3.3
 */
@Injectable()
export class EnrollmentReservations {
  constructor(private readonly worker: WorkerDatabase) {}

  reserve({ keyHashes, deviceId }: EnrollmentReserveRequest): Promise<EnrollmentReserveReply> {
    return this.worker.transaction(async (tx) => {
      const key = await this.findKey(tx, keyHashes);
      if (!key) return { reserved: false, reason: 'invalid_enrollment_key' };
      if (!(await this.isReserved(tx, deviceId, key.id))) {
        if (key.expired) return { reserved: false, reason: 'enrollment_key_expired' };
        if (key.exhausted) return { reserved: false, reason: 'enrollment_key_exhausted' };
        if (!(await this.take(tx, key.id, keyHashes, deviceId)))
          return { reserved: false, reason: await this.lost(tx, keyHashes) };
      }
      const current = keyHashes[0];
      if (current && key.keyHash.toString('hex') !== current) await this.rehash(tx, key, current);
      return {
        reserved: true,
        enrollmentKeyId: key.id,
        orgId: key.orgId,
        partnerId: key.partnerId,
        siteId: key.siteId,
        enrollmentSecretHash: key.secretHash?.toString('hex') ?? null,
      };
    });
  }

  /** The device exists: the use stays. @returns false when nothing was reserved under this id */
  async confirm(deviceId: string): Promise<boolean> {
    const rows = await this.worker.query(
      `UPDATE enrollment_reservation SET state = 'confirmed', settled_at = now()
       WHERE device_id = $1 AND state = 'reserved' RETURNING device_id`,
      [deviceId],
    );
    return rows.length > 0;
  }

  /** The device does not exist: the use is given back, unless the key was rotated since. */
  async release(deviceId: string): Promise<boolean> {
    const rows = await this.worker.query(
      `WITH released AS (
         UPDATE enrollment_reservation SET state = 'released', settled_at = now()
         WHERE device_id = $1 AND state = 'reserved' RETURNING enrollment_key_id, generation
       ), given_back AS (
         UPDATE enrollment_key k SET usage_count = greatest(k.usage_count - 1, 0)
         FROM released r WHERE k.id = r.enrollment_key_id AND k.generation = r.generation
       )
       SELECT enrollment_key_id FROM released`,
      [deviceId],
    );
    return rows.length > 0;
  }

  /** Devices whose reservation nobody settled for so long, oldest first. */
  async unsettled(olderThanSeconds: number, limit: number): Promise<string[]> {
    const rows = await this.worker.query<{ deviceId: string }>(
      `SELECT device_id AS "deviceId" FROM enrollment_reservation
       WHERE state = 'reserved' AND reserved_at < now() - make_interval(secs => $1)
       ORDER BY reserved_at LIMIT $2`,
      [olderThanSeconds, limit],
    );
    return rows.map((row) => row.deviceId);
  }

  /** Forgets what was settled long ago. */
  async purge(): Promise<void> {
    await this.worker.query(`DELETE FROM enrollment_reservation WHERE settled_at < now() - make_interval(days => $1)`, [
      RESERVATION_RETENTION_DAYS,
    ]);
  }

  private async findKey(tx: WorkerTransaction, keyHashes: readonly string[]): Promise<UsableKey | undefined> {
    const [key] = await tx.query<UsableKey>(
      `SELECT id, org_id AS "orgId", partner_id AS "partnerId", site_id AS "siteId", key_hash AS "keyHash",
         secret_hash AS "secretHash", expires_at <= now() AS expired,
         max_usage IS NOT NULL AND usage_count >= max_usage AS exhausted
       FROM enrollment_key WHERE key_hash = ANY($1::bytea[])`,
      [asBytes(keyHashes)],
    );
    return key;
  }

  /** A key that was rotated or deleted under our eyes is no key any more; otherwise somebody else was faster. */
  private async lost(tx: WorkerTransaction, keyHashes: readonly string[]): Promise<EnrollmentRefusal> {
    return (await this.findKey(tx, keyHashes)) ? 'enrollment_key_race_lost' : 'invalid_enrollment_key';
  }

  private async isReserved(tx: WorkerTransaction, deviceId: string, keyId: string): Promise<boolean> {
    const rows = await tx.query(
      `SELECT 1 FROM enrollment_reservation
       WHERE device_id = $1 AND enrollment_key_id = $2 AND state <> 'released'`,
      [deviceId, keyId],
    );
    return rows.length > 0;
  }

  /** One statement decides the race for the last use, and that against a rotation, which leaves the id as it is. */
  private async take(
    tx: WorkerTransaction,
    keyId: string,
    keyHashes: readonly string[],
    deviceId: string,
  ): Promise<boolean> {
    const rows = await tx.query(
      `WITH taken AS (
         UPDATE enrollment_key SET usage_count = usage_count + 1
         WHERE id = $1 AND key_hash = ANY($3::bytea[])
           AND expires_at > now() AND (max_usage IS NULL OR usage_count < max_usage)
         RETURNING id, generation
       )
       INSERT INTO enrollment_reservation (device_id, enrollment_key_id, generation)
       SELECT $2, id, generation FROM taken RETURNING device_id`,
      [keyId, deviceId, asBytes(keyHashes)],
    );
    return rows.length > 0;
  }

  /** A key hashed under a legacy pepper moves to the current one on its first good use, unless it was rotated since. */
  private async rehash(tx: WorkerTransaction, key: UsableKey, currentHash: string): Promise<void> {
    await tx.query('UPDATE enrollment_key SET key_hash = $2 WHERE id = $1 AND key_hash = $3', [
      key.id,
      ...asBytes([currentHash]),
      key.keyHash,
    ]);
  }
}

const asBytes = (hashes: readonly string[]): Buffer[] => hashes.map((hash) => Buffer.from(hash, 'hex'));
