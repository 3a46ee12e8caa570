import { Controller } from '@nestjs/common';
import {
  ENROLLMENT_KEYS_CONFIRM,
  ENROLLMENT_KEYS_RELEASE,
  ENROLLMENT_KEYS_RESERVE,
  type EnrollmentReserveReply,
  type EnrollmentReserveRequest,
  type EnrollmentSettleRequest,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { EnrollmentReservationsService } from './enrollment-reservations.service.js';

/** Serves provisioning while an agent enrolls. */
@Controller()
export class EnrollmentReservationsRpc {
  constructor(private readonly reservations: EnrollmentReservationsService) {}

  @RpcHandler(ENROLLMENT_KEYS_RESERVE)
  reserve(request: EnrollmentReserveRequest): Promise<EnrollmentReserveReply> {
    return this.reservations.reserve(request);
  }

  @RpcHandler(ENROLLMENT_KEYS_CONFIRM)
  async confirm({ deviceId }: EnrollmentSettleRequest): Promise<{ settled: boolean }> {
    return { settled: await this.reservations.confirm(deviceId) };
  }

  @RpcHandler(ENROLLMENT_KEYS_RELEASE)
  async release({ deviceId }: EnrollmentSettleRequest): Promise<{ settled: boolean }> {
    return { settled: await this.reservations.release(deviceId) };
  }
}
