import { Injectable, Logger } from '@nestjs/common';
import {
  ENROLLMENT_KEYS_CONFIRM,
  ENROLLMENT_KEYS_RELEASE,
  ENROLLMENT_KEYS_RESERVE,
  type PresentedEnrollmentKey,
} from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { EnrollmentKeyUnusable, InvalidEnrollmentKey } from './enrollment.errors.js';

/** The enrollment key that an agent presented; its use is reserved for one device and not settled yet. */
export type Reservation = PresentedEnrollmentKey;

export interface ReserveResult {
  reservation: Reservation;
  /** The reason for which no use is reserved; null when one is. */
  refusal: EnrollmentKeyUnusable | null;
}

/** Short, since the agent waits and credentials settles a reservation by itself. */
const SETTLE_TIMEOUT_MS = 1_000;

/**
 * Reserves and settles uses of enrollment keys, which credentials counts. Credentials settles a use that was neither
 * confirmed nor released within 60 s by whether its device exists, so that a crash at any step loses no use.
 */
@Injectable()
export class KeyReservationsService {
  private readonly logger = new Logger(KeyReservationsService.name);

  constructor(private readonly rpc: RpcClient) {}

  /**
   * Reserves a use; a key that has none left is returned with the reason.
   * @throws InvalidEnrollmentKey; UnavailableError  when credentials does not reply
   */
  async reserve(keyHashes: string[], reservationId: string): Promise<ReserveResult> {
    const reply = await this.rpc.call(ENROLLMENT_KEYS_RESERVE, { keyHashes, deviceId: reservationId });
    if (reply.reserved) return { reservation: reply, refusal: null };
    const { reason, key } = reply;
    if (reason === 'invalid_enrollment_key' || key === null) throw new InvalidEnrollmentKey();
    return { reservation: key, refusal: new EnrollmentKeyUnusable(reason) };
  }

  /** Confirms the use. A failure is logged only. */
  confirm(reservationId: string): Promise<void> {
    return this.settle(ENROLLMENT_KEYS_CONFIRM, reservationId);
  }

  /** Releases the use. A failure is logged only. */
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
      this.logger.warn({ message: 'Reservation not settled; credentials settles it within 60 s', reservationId, err });
    }
  }
}
