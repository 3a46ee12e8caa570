import { Module } from '@nestjs/common';
import { OrganizationUseRepository } from './organization-use.repository.js';
import { OrganizationUseRpc } from './organization-use.rpc.js';

@Module({ controllers: [OrganizationUseRpc], providers: [OrganizationUseRepository] })
export class OrganizationUseModule {}
