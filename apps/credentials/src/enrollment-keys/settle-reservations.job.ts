import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { EnrollmentReservationsService } from './enrollment-reservations.service.js';

/** Settles reservations of crashed enrollments within a minute, and deletes old settled ones. */
@Injectable()
export class SettleReservationsJob {
  constructor(private readonly reservations: EnrollmentReservationsService) {}

  @Job({ name: 'settle-enrollment-reservations', everyMs: 10_000 })
  async run(): Promise<void> {
    await this.reservations.settle();
    await this.reservations.deleteSettled();
  }
}
