import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import {
  ENROLLMENT_KEYS_CONFIRM,
  ENROLLMENT_KEYS_RELEASE,
  ENROLLMENT_KEYS_RESERVE,
  type EnrollmentReserveReply,
  type EnrollmentReserveRequest,
  type EnrollmentSettleRequest,
} from '@rmm/contracts';
import { EnrollmentReservations } from './enrollment-reservations.js';

/** What provisioning asks while an agent enrolls. */
@Controller()
export class EnrollmentReservationsController {
  constructor(private readonly reservations: EnrollmentReservations) {}

  @MessagePattern(ENROLLMENT_KEYS_RESERVE.subject)
  reserve(@Payload() request: EnrollmentReserveRequest): Promise<EnrollmentReserveReply> {
    return this.reservations.reserve(request);
  }

  @MessagePattern(ENROLLMENT_KEYS_CONFIRM.subject)
  async confirm(@Payload() { deviceId }: EnrollmentSettleRequest): Promise<{ settled: boolean }> {
    return { settled: await this.reservations.confirm(deviceId) };
  }

  @MessagePattern(ENROLLMENT_KEYS_RELEASE.subject)
  async release(@Payload() { deviceId }: EnrollmentSettleRequest): Promise<{ settled: boolean }> {
    return { settled: await this.reservations.release(deviceId) };
  }
}
