import { Module } from '@nestjs/common';
import { UsersRepository } from './users.repository.js';

/** User records, read by every feature that authenticates. */
@Module({
  providers: [UsersRepository],
  exports: [UsersRepository],
})
export class UsersModule {}
