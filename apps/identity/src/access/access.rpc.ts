import { Controller } from '@nestjs/common';
import {
  IDENTITY_ACCESS_IN_ORGANIZATION,
  IDENTITY_ACCESS_RESOLVE,
  type AccessInOrganization,
  type AccessInOrganizationRequest,
  type AccessResolveRequest,
  type AccessSnapshot,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { DatabaseAccessSource } from './access-source.js';
import { OrganizationAccess } from './organization-access.js';

/** Answers the other services. */
@Controller()
export class AccessRpc {
  constructor(
    private readonly source: DatabaseAccessSource,
    private readonly organizations: OrganizationAccess,
  ) {}

  @RpcHandler(IDENTITY_ACCESS_RESOLVE)
  resolve(request: AccessResolveRequest): Promise<AccessSnapshot | null> {
    return this.source.resolve(request);
  }

  @RpcHandler(IDENTITY_ACCESS_IN_ORGANIZATION)
  inOrganization(request: AccessInOrganizationRequest): Promise<AccessInOrganization | null> {
    return this.organizations.of(request);
  }
}
