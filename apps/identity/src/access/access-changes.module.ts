import { Module } from '@nestjs/common';
import { AccessChanges } from './access-changes.js';

/** Publishes changes of users' access. */
@Module({
  providers: [AccessChanges],
  exports: [AccessChanges],
})
export class AccessChangesModule {}
