import { Module } from '@nestjs/common';
import { UserAxes } from './user-axis.js';

/** Resolves which members a caller manages; kept apart from MembershipsModule because roles depend on it. */
@Module({
  providers: [UserAxes],
  exports: [UserAxes],
})
export class MemberScopeModule {}
