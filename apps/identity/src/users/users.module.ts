import { Module } from '@nestjs/common';
import { PeopleRepository } from './people.repository.js';

/** User records, read by every feature that authenticates. */
@Module({
  providers: [PeopleRepository],
  exports: [PeopleRepository],
})
export class UsersModule {}
