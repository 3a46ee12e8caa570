import { Module } from '@nestjs/common';
import { PartnersModule } from '../partners/partners.module.js';
import { DeviceEnrollmentService } from './device-enrollment.service.js';
import { EnrollmentController } from './enrollment.controller.js';
import { EnrollmentRepository } from './enrollment.repository.js';
import { EnrollmentService } from './enrollment.service.js';
import { KeyReservationsService } from './key-reservations.service.js';

@Module({
  imports: [PartnersModule],
  controllers: [EnrollmentController],
  providers: [EnrollmentService, DeviceEnrollmentService, EnrollmentRepository, KeyReservationsService],
})
export class EnrollmentModule {}
