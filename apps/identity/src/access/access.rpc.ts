import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { IDENTITY_ACCESS_RESOLVE, type AccessResolveRequest, type AccessSnapshot } from '@rmm/contracts';
import { DatabaseAccessSource } from './access-source.js';

/** Answers the other services. */
@Controller()
export class AccessRpc {
  constructor(private readonly source: DatabaseAccessSource) {}

  @MessagePattern(IDENTITY_ACCESS_RESOLVE.subject)
  resolve(@Payload() request: AccessResolveRequest): Promise<AccessSnapshot | null> {
    return this.source.resolve(request);
  }
}
