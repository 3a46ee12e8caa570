import { Injectable } from '@nestjs/common';
import { Outbox, type OutgoingMessage } from '@rmm/messaging';
import { Job, Logger } from '@rmm/service-kit';
import { organizationEvent } from '../organizations/organization.events.js';
import { ErasureReportsService } from './erasure-reports.service.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';

const ORGANIZATIONS = 20;
const RECORDS = 500;
/** Leaves the rest to the next run, so that a large organization does not keep other replicas from stopping. */
const BATCHES_PER_RUN = 200;
/** After which a service that has not reported gets the event again: it may have been restored from an earlier backup. */
const REPEAT_MINUTES = 60;
const SYSTEM = { type: 'system', id: null } as const;

/**
 * Erases deleted organizations once they can no longer be restored: first their own data, then their records in batches,
 * one transaction each; the other services do the same when they receive `organization.erased`. What remains is a row by
 * which directories keep refusing them. Replicas may run it at the same time; a process that ends in between leaves the next
 * batch to another one.
 */
@Injectable()
export class EraseOrganizationsJob {
  constructor(
    private readonly erasures: OrganizationErasuresRepository,
    private readonly reports: ErasureReportsService,
    private readonly outbox: Outbox,
    private readonly logger: Logger,
  ) {}

  @Job({ name: 'erase-organizations', everyMs: 5_000 })
  async run(): Promise<void> {
    while ((await this.start()) === ORGANIZATIONS);
    await this.announceAgain();
    const skipped: string[] = [];
    for (let batch = 0; batch < BATCHES_PER_RUN && (await this.eraseNext(skipped)); batch += 1);
  }

  /** Replaces the names that other services store, by the first event. @returns the number of organizations */
  private start(): Promise<number> {
    return this.erasures.transaction(async (tx) => {
      const organizations = await this.erasures.start(tx, ORGANIZATIONS);
      await this.outbox.publish(
        tx,
        organizations.flatMap((row) => [
          organizationEvent('organization.updated', row, SYSTEM),
          organizationErased({ orgId: row.id, partnerId: row.partnerId }),
        ]),
      );
      return organizations.length;
    });
  }

  private announceAgain(): Promise<void> {
    return this.erasures.transaction(async (tx) => {
      const late = await this.erasures.listUnreported(tx, REPEAT_MINUTES, ORGANIZATIONS);
      await this.outbox.publish(tx, late.map(organizationErased));
    });
  }

  /** An organization whose batch fails is left to the next run. @returns false when there is nothing to erase */
  private async eraseNext(skipped: string[]): Promise<boolean> {
    let orgId: string | undefined;
    try {
      return await this.erasures.transaction(async (tx) => {
        const part = await this.erasures.claim(tx, skipped);
        if (part === null) return false;
        orgId = part.orgId;
        if (!(await this.erasures.eraseBatch(tx, part, RECORDS))) await this.reports.record(tx, part);
        return true;
      });
    } catch (err) {
      if (orgId === undefined) throw err;
      this.logger.error({ err, orgId }, 'erasing an organization failed; the next run tries again');
      skipped.push(orgId);
      return true;
    }
  }
}

const organizationErased = ({ orgId, partnerId }: { orgId: string; partnerId: string }): OutgoingMessage => ({
  stream: 'internal',
  type: 'organization.erased',
  aggregateId: orgId,
  partnerId,
  orgId,
  actor: SYSTEM,
  data: { orgId, partnerId },
});
