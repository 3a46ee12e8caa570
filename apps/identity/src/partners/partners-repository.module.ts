import { Module } from '@nestjs/common';
import { PartnersRepository } from './partners.repository.js';

/** Partner rows; kept apart from PartnersModule because members and policies depend on them. */
@Module({ providers: [PartnersRepository], exports: [PartnersRepository] })
export class PartnersRepositoryModule {}
