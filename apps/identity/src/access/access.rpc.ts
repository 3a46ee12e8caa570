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
import { DatabaseAccessSource } from './access-source.js';
import { OrganizationAccess } from './organization-access.js';

/** Answers the other services. */
@Controller()
export class AccessRpc {
  constructor(
    private readonly source: DatabaseAccessSource,
    private readonly organizations: OrganizationAccess,
  ) {}

  @MessagePattern(IDENTITY_ACCESS_RESOLVE.subject)
  resolve(@Payload() request: AccessResolveRequest): Promise<AccessSnapshot | null> {
    return this.source.resolve(request);
  }

  @MessagePattern(IDENTITY_ACCESS_IN_ORGANIZATION.subject)
  inOrganization(@Payload() request: AccessInOrganizationRequest): Promise<AccessInOrganization | null> {
    return this.organizations.of(request);
  }
}
