import { Module } from '@nestjs/common';
import { MembersRepository } from './members.repository.js';

/** Membership rows; kept apart from MembersModule because invitations and factor resets depend on them. */
@Module({ providers: [MembersRepository], exports: [MembersRepository] })
export class MembersRepositoryModule {}
