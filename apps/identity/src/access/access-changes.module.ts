import { Module } from '@nestjs/common';
import { AccessChangesService } from './access-changes.service.js';

/** Publishes changes of users' access. */
@Module({
  providers: [AccessChangesService],
  exports: [AccessChangesService],
})
export class AccessChangesModule {}
