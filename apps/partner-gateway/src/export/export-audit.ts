import { Injectable } from '@nestjs/common';
import type { PartnerKeyCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Logger } from '@rmm/service-kit';
import { withoutDelay } from '../without-delay.js';
import type { Walk } from './export-cursors.js';

const ACTION = 'partner_api.export';

/** The audit rows of reads. They never change an answer. @see CONTRACT.md 4.4.1 */
@Injectable()
export class ExportAudit {
  constructor(
    private readonly trail: AuditTrail,
    private readonly logger: Logger,
  ) {}

  read(caller: PartnerKeyCaller, { resource, orgId, updatedSince }: Walk, count: number): Promise<void> {
    const details = { resource, filters: { orgId, updatedSince }, count, keyId: caller.keyId };
    return this.write(
      this.trail.recordDirect(caller, ACTION, { type: 'partner_export', name: resource, orgId }, details),
    );
  }

  /** What was asked for is not repeated: it may be another partner's. */
  denied(caller: PartnerKeyCaller, resource: string): Promise<void> {
    const target = { type: 'partner_export', name: resource };
    const details = { resource, keyId: caller.keyId };
    return this.write(this.trail.recordDirect(caller, ACTION, target, details, 'denied'));
  }

  private write(written: Promise<void>): Promise<void> {
    return withoutDelay(written, this.logger, 'An export could not be audited');
  }
}
