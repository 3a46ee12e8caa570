import { Module } from '@nestjs/common';
import { PartnersRepository } from './partners.repository.js';

@Module({ providers: [PartnersRepository], exports: [PartnersRepository] })
export class PartnersModule {}
