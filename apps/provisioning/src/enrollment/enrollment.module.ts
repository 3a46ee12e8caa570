import { Module } from '@nestjs/common';
import { PartnersModule } from '../partners/partners.module.js';
import { DeviceEnrollment } from './device-enrollment.js';
import { EnrollmentController } from './enrollment.controller.js';
import { EnrollmentRepository } from './enrollment.repository.js';
import { EnrollmentService } from './enrollment.service.js';
import { KeyUses } from './key-uses.js';

@Module({
  imports: [PartnersModule],
  controllers: [EnrollmentController],
  providers: [EnrollmentService, DeviceEnrollment, EnrollmentRepository, KeyUses],
})
export class EnrollmentModule {}
