import { Injectable } from '@nestjs/common';
import {
  KeyWindow,
  type PartnerKeyCaller,
  type PartnerKeyWindow,
  partnerReadWindow,
  partnerWriteWindow,
  WINDOW_SECONDS,
} from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { waitForAudit } from '../wait-for-audit.js';
import type { CurrentKeyDto } from './dto/current-key.dto.js';

/** Describes the partner key of a request, with what is left of its limits. */
@Injectable()
export class CurrentKeyService {
  constructor(
    private readonly windows: KeyWindow,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  /** Records the call in the audit log. @throws UnavailableError  503 when a limit cannot be read */
  async describe(caller: PartnerKeyCaller): Promise<CurrentKeyDto> {
    const { partnerId, principalId, principalName, keyId, keyName, keyPrefix, expiresAt, scopes } = caller;
    const [reads, writes] = await Promise.all([
      this.readWindow(partnerReadWindow(caller)),
      this.readWindow(partnerWriteWindow(caller)),
    ]);
    const target = { type: 'partner_request', name: 'me' };
    const entry = this.audit.recordDirect(caller, 'partner_api.request', target, { resource: 'me', keyId });
    await waitForAudit(entry, this.logger);
    return {
      partnerId,
      principal: { id: principalId, name: principalName },
      key: { id: keyId, name: keyName, prefix: keyPrefix, expiresAt },
      scopes: [...scopes],
      limits: { reads, writes },
    };
  }

  private async readWindow({ bucket, limit }: PartnerKeyWindow) {
    const { remaining, resetAtSeconds } = await this.windows.read(bucket, limit);
    const resetsAt = remaining === limit ? null : new Date(resetAtSeconds * 1_000).toISOString();
    return { limit, windowSeconds: WINDOW_SECONDS, remaining, resetsAt };
  }
}
