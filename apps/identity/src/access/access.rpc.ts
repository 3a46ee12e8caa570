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
import { AccessSourceService } from './access-source.service.js';

/** Handles requests of the other services about access. */
@Controller()
export class AccessRpc {
  constructor(private readonly source: AccessSourceService) {}

  @RpcHandler(IDENTITY_ACCESS_RESOLVE)
  resolve(request: AccessResolveRequest): Promise<AccessSnapshot | null> {
    return this.source.resolve(request);
  }

  @RpcHandler(IDENTITY_ACCESS_IN_ORGANIZATION)
  resolveInOrganization(request: AccessInOrganizationRequest): Promise<AccessInOrganization | null> {
    return this.source.resolveInOrganization(request);
  }
}
