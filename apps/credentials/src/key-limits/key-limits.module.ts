import { Module } from '@nestjs/common';
import { KeyLimitsRepository } from './key-limits.repository.js';

@Module({ providers: [KeyLimitsRepository], exports: [KeyLimitsRepository] })
export class KeyLimitsModule {}
