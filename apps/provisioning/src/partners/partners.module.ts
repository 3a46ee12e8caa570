import { Module } from '@nestjs/common';
import { PartnerLocksRepository } from './partner-locks.repository.js';

@Module({ providers: [PartnerLocksRepository], exports: [PartnerLocksRepository] })
export class PartnersModule {}
