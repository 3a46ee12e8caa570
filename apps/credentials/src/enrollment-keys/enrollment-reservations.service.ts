import { Injectable } from '@nestjs/common';
import {
  PROVISIONING_DEVICES_EXISTING,
  type EnrollmentRefusal,
  type EnrollmentReserveReply,
  type EnrollmentReserveRequest,
  type PresentedEnrollmentKey,
} from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { EnrollmentReservationsRepository, type UsableKey } from './enrollment-reservations.repository.js';

const SETTLE_AFTER_SECONDS = 30; // an enrollment succeeds or fails within 10 s
const SETTLE_BATCH = 500;
const DELETE_BATCH = 5_000;
const UNKNOWN: EnrollmentReserveReply = { reserved: false, reason: 'invalid_enrollment_key', key: null };

/**
 * Reserves uses of enrollment keys before the device exists and settles them after. A use counts at once; a reservation
 * is identified by the device id, so a repeated request is the same use.
 * @see docs/reference/keys.md
 */
@Injectable()
export class EnrollmentReservationsService {
  constructor(
    private readonly repository: EnrollmentReservationsRepository,
    private readonly worker: WorkerDatabase,
    private readonly rpc: RpcClient,
  ) {}

  reserve({ keyHashes, deviceId }: EnrollmentReserveRequest): Promise<EnrollmentReserveReply> {
    return this.worker.transaction(async (tx) => {
      const key = await this.repository.findKey(tx, keyHashes);
      if (!key) return UNKNOWN;
      if (!(await this.repository.isReserved(tx, deviceId, key.id))) {
        if (key.expired) return refuse(key, 'enrollment_key_expired');
        if (key.exhausted) return refuse(key, 'enrollment_key_exhausted');
        if (!(await this.repository.reserve(tx, key.id, keyHashes, deviceId))) {
          // a key that was rotated or deleted meanwhile is invalid; otherwise another device took the last use
          const exists = (await this.repository.findKey(tx, keyHashes)) !== null;
          return exists ? refuse(key, 'enrollment_key_race_lost') : UNKNOWN;
        }
      }
      const current = keyHashes[0];
      const isLegacy = current && key.keyHash.toString('hex') !== current;
      if (isLegacy) await this.repository.rehash(tx, key, current);
      return { reserved: true, ...toPresentedKey(key) };
    });
  }

  /** Keeps the use of a device that was created. @returns false when nothing was reserved for it */
  confirm(deviceId: string): Promise<boolean> {
    return this.repository.confirm(deviceId);
  }

  /** Returns the use of a device that was not created. @returns false when nothing was reserved for it */
  release(deviceId: string): Promise<boolean> {
    return this.repository.release(deviceId);
  }

  /**
   * Settles reservations whose enrollment crashed, by whether the device exists. A reservation that is settled elsewhere
   * meanwhile is left as it is.
   * @returns how many were settled here
   * @throws UnavailableError when provisioning cannot be reached; nothing is settled then
   */
  async settle(olderThanSeconds = SETTLE_AFTER_SECONDS): Promise<number> {
    let total = 0;
    for (;;) {
      const deviceIds = await this.repository.listUnsettled(olderThanSeconds, SETTLE_BATCH);
      const settled = deviceIds.length > 0 ? await this.settleAll(deviceIds) : 0;
      total += settled;
      if (deviceIds.length < SETTLE_BATCH || settled === 0) return total;
    }
  }

  /** Deletes reservations that were settled more than a week ago. */
  async deleteSettled(): Promise<void> {
    while ((await this.repository.deleteSettled(DELETE_BATCH)) === DELETE_BATCH);
  }

  private async settleAll(deviceIds: string[]): Promise<number> {
    const { existing } = await this.rpc.call(PROVISIONING_DEVICES_EXISTING, { deviceIds });
    const exists = new Set(existing);
    const confirmed = await this.repository.confirmAll(existing);
    return confirmed + (await this.repository.releaseAll(deviceIds.filter((id) => !exists.has(id))));
  }
}

function refuse(key: UsableKey, reason: EnrollmentRefusal): EnrollmentReserveReply {
  return { reserved: false, reason, key: toPresentedKey(key) };
}

function toPresentedKey({ id, orgId, partnerId, siteId, secretHash }: UsableKey): PresentedEnrollmentKey {
  return { enrollmentKeyId: id, orgId, partnerId, siteId, enrollmentSecretHash: secretHash?.toString('hex') ?? null };
}
