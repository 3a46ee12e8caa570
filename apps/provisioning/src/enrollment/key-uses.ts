import { Injectable, Logger } from '@nestjs/common';
import {
  ENROLLMENT_KEYS_CONFIRM,
  ENROLLMENT_KEYS_RELEASE,
  ENROLLMENT_KEYS_RESERVE,
  type EnrollmentReserveReply,
} from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { EnrollmentKeyUnusable, InvalidEnrollmentKey } from './enrollment.errors.js';

/** A use of an enrollment key, taken for one device and not yet settled. */
export type Reservation = Extract<EnrollmentReserveReply, { reserved: true }>;

/** The agent waits for its answer, and credentials settles by itself what nobody tells it. */
const SETTLE_TIMEOUT_MS = 1_000;

/**
 * The uses of enrollment keys, which are credentials' to count. A use that is neither confirmed nor given back is settled
 * there within 60 s by whether its device exists, so that a crash at any step burns nothing. @see ARCHITECTURE.md 3
 */
@Injectable()
export class KeyUses {
  private readonly logger = new Logger(KeyUses.name);

  constructor(private readonly rpc: RpcClient) {}

  /** @throws InvalidEnrollmentKey, EnrollmentKeyUnusable; UnavailableError  when credentials cannot be asked */
  async reserve(keyHashes: string[], reservationId: string): Promise<Reservation> {
    const reply = await this.rpc.call(ENROLLMENT_KEYS_RESERVE, { keyHashes, deviceId: reservationId });
    if (reply.reserved) return reply;
    if (reply.reason === 'invalid_enrollment_key') throw new InvalidEnrollmentKey();
    throw new EnrollmentKeyUnusable(reply.reason);
  }

  /** Never fails. */
  confirm(reservationId: string): Promise<void> {
    return this.settle(ENROLLMENT_KEYS_CONFIRM, reservationId);
  }

  /** Gives the use back. Never fails. */
  release(reservationId: string): Promise<void> {
    return this.settle(ENROLLMENT_KEYS_RELEASE, reservationId);
  }

  private async settle(
    contract: typeof ENROLLMENT_KEYS_CONFIRM | typeof ENROLLMENT_KEYS_RELEASE,
    reservationId: string,
  ): Promise<void> {
    try {
      await this.rpc.call(contract, { deviceId: reservationId }, { timeoutMs: SETTLE_TIMEOUT_MS });
    } catch (err) {
      this.logger.warn({ message: 'A reservation is left to be settled by credentials', reservationId, err });
    }
  }
}
