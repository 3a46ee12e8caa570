import { Module } from '@nestjs/common';
import { UsersRepository } from './users.repository.js';

/** User records, which every feature that authenticates reads. */
@Module({ providers: [UsersRepository], exports: [UsersRepository] })
export class UsersModule {}
