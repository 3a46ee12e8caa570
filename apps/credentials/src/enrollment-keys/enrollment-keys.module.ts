import { Module } from '@nestjs/common';
import { EnrollmentKeysController } from './enrollment-keys.controller.js';
import { EnrollmentKeysRepository } from './enrollment-keys.repository.js';
import { EnrollmentKeysService } from './enrollment-keys.service.js';
import { EnrollmentReservationsController } from './enrollment-reservations.controller.js';
import { EnrollmentReservations } from './enrollment-reservations.js';
import { ReservationSettlement } from './reservation-settlement.js';

@Module({
  controllers: [EnrollmentKeysController, EnrollmentReservationsController],
  providers: [EnrollmentKeysService, EnrollmentKeysRepository, EnrollmentReservations, ReservationSettlement],
})
export class EnrollmentKeysModule {}
