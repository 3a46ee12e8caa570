import { Controller } from '@nestjs/common';
import { runForwarded, tenantOf } from '@rmm/access';
import {
  CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE,
  type PartnerEnrollmentKeyCreateRequest,
  type RpcReply,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { PartnerEnrollmentKeysService } from './partner-enrollment-keys.service.js';

/** Serves the writes of the partner interface. */
@Controller()
export class PartnerEnrollmentKeysRpc {
  constructor(private readonly keys: PartnerEnrollmentKeysService) {}

  @RpcHandler(CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE)
  create(
    request: PartnerEnrollmentKeyCreateRequest,
  ): Promise<RpcReply<typeof CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE>> {
    return runForwarded(request.idempotency, tenantOf(request.caller), () => this.keys.create(request));
  }
}
