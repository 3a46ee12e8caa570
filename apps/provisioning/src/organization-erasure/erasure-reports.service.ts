import { Injectable } from '@nestjs/common';
import type { ErasureReport } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { ERASED_NAME, OrganizationErasuresRepository, type ErasurePart } from './organization-erasures.repository.js';

const SYSTEM = { type: 'system', id: null } as const;

/** Collects what each service has erased of an organization; the last report ends the erasure. */
@Injectable()
export class ErasureReportsService {
  constructor(
    private readonly erasures: OrganizationErasuresRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** Records the report of another service; a repeated one changes nothing. */
  receive(report: ErasureReport): Promise<{ recorded: boolean }> {
    return this.erasures.transaction((tx) => this.record(tx, report));
  }

  /** Ends the part of a service, and audits the numbers of all services with the last part. */
  async record(tx: WorkerTransaction, part: ErasurePart): Promise<{ recorded: boolean }> {
    const { orgId, partnerId } = part;
    const { recorded, isLast } = await this.erasures.finishPart(tx, part);
    if (isLast) {
      const resource = { type: 'organization', id: orgId, name: ERASED_NAME, orgId, partnerId };
      const caller = { actor: SYSTEM, tenant: { partnerId, orgId } };
      const services = await this.erasures.listErased(tx, orgId);
      await this.audit.record(tx, caller, 'organization.erase', resource, { services });
    }
    return { recorded };
  }
}
