import { Module } from '@nestjs/common';
import { ResealingService } from './resealing.service.js';
import { SealedColumnsRepository } from './sealed-columns.repository.js';

/** Encrypts stored secrets again after a rotation of the encryption key. */
@Module({
  providers: [ResealingService, SealedColumnsRepository],
})
export class ResealingModule {}
