import { Module } from '@nestjs/common';
import { MemberScopeService } from './member-scope.service.js';

/** Resolves which members a caller manages; kept apart from MembersModule because roles depend on it. */
@Module({
  providers: [MemberScopeService],
  exports: [MemberScopeService],
})
export class MemberScopeModule {}
