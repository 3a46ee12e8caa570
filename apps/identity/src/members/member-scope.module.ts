import { Module } from '@nestjs/common';
import { PartnersRepositoryModule } from '../partners/partners-repository.module.js';
import { MemberScopeService } from './member-scope.service.js';

/** Resolves whose members a caller manages; kept apart from MembersModule because roles depend on it. */
@Module({ imports: [PartnersRepositoryModule], providers: [MemberScopeService], exports: [MemberScopeService] })
export class MemberScopeModule {}
