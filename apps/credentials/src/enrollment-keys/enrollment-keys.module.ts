import { Module } from '@nestjs/common';
import { KeyLimitsModule } from '../key-limits/key-limits.module.js';
import { EnrollmentKeyIssuingService } from './enrollment-key-issuing.service.js';
import { EnrollmentKeysController } from './enrollment-keys.controller.js';
import { EnrollmentKeysRepository } from './enrollment-keys.repository.js';
import { EnrollmentKeysService } from './enrollment-keys.service.js';
import { EnrollmentReservationsRepository } from './enrollment-reservations.repository.js';
import { EnrollmentReservationsRpc } from './enrollment-reservations.rpc.js';
import { EnrollmentReservationsService } from './enrollment-reservations.service.js';
import { SettleReservationsJob } from './settle-reservations.job.js';
import { SiteDeletionsConsumer } from './site-deletions.consumer.js';

@Module({
  imports: [KeyLimitsModule],
  controllers: [EnrollmentKeysController, EnrollmentReservationsRpc, SiteDeletionsConsumer],
  providers: [
    EnrollmentKeyIssuingService,
    EnrollmentKeysService,
    EnrollmentKeysRepository,
    EnrollmentReservationsService,
    EnrollmentReservationsRepository,
    SettleReservationsJob,
  ],
  exports: [EnrollmentKeyIssuingService],
})
export class EnrollmentKeysModule {}
