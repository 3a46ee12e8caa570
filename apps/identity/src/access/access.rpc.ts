import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import {
  IDENTITY_ACCESS_IN_ORGANIZATION,
  IDENTITY_ACCESS_RESOLVE,
  type AccessInOrganization,
  type AccessInOrganizationRequest,
  type AccessResolveRequest,
  type AccessSnapshot,
} from '@rmm/contracts';
import { AccessSourceService } from './access-source.service.js';

/** Handles requests of the other services about access. */
@Controller()
export class AccessRpc {
  constructor(private readonly source: AccessSourceService) {}

  @MessagePattern(IDENTITY_ACCESS_RESOLVE.subject)
  resolve(@Payload() request: AccessResolveRequest): Promise<AccessSnapshot | null> {
    return this.source.resolve(request);
  }

  @MessagePattern(IDENTITY_ACCESS_IN_ORGANIZATION.subject)
  resolveInOrganization(@Payload() request: AccessInOrganizationRequest): Promise<AccessInOrganization | null> {
    return this.source.resolveInOrganization(request);
  }
}
