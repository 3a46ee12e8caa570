import { Injectable } from '@nestjs/common';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { Job } from '@rmm/service-kit';
import { ERASED_NAME, OrganizationErasureRepository } from './organization-erasure.repository.js';
import { organizationEvent } from './organization.events.js';

const ORGANIZATIONS = 20;
const RECORDS = 500;
/** Leaves the rest to the next run, so that a large organization does not keep other replicas from stopping. */
const BATCHES_PER_RUN = 200;
const SYSTEM = { type: 'system', id: null } as const;

/**
 * Erases deleted organizations once they can no longer be restored: first their own data, then their records in batches,
 * one transaction each. What remains is a row by which directories keep refusing them. Replicas may run it at the same time;
 * a process that ends in between leaves the next batch to another one.
 */
@Injectable()
export class EraseOrganizationsJob {
  constructor(
    private readonly erasures: OrganizationErasureRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  @Job({ name: 'erase-organizations', everyMs: 10_000 })
  async run(): Promise<void> {
    while ((await this.start()) === ORGANIZATIONS);
    for (let batch = 0; batch < BATCHES_PER_RUN && (await this.eraseNext()); batch += 1);
  }

  /** Replaces the names that other services store, by the event. @returns the number of organizations */
  private start(): Promise<number> {
    return this.erasures.transaction(async (tx) => {
      const organizations = await this.erasures.start(tx, ORGANIZATIONS);
      const events = organizations.map((row) => organizationEvent('organization.updated', row, SYSTEM));
      await this.outbox.publish(tx, events);
      return organizations.length;
    });
  }

  /** @returns false when there is nothing to erase */
  private eraseNext(): Promise<boolean> {
    return this.erasures.transaction(async (tx) => {
      const erasure = await this.erasures.claim(tx);
      if (erasure === null) return false;
      if (await this.erasures.eraseBatch(tx, erasure, RECORDS)) return true;
      await this.erasures.finish(tx, erasure);
      const { orgId, partnerId, erased } = erasure;
      const resource = { type: 'organization', id: orgId, name: ERASED_NAME, orgId, partnerId };
      await this.audit.record(
        tx,
        { actor: SYSTEM, tenant: { partnerId, orgId } },
        'organization.erase',
        resource,
        erased,
      );
      return true;
    });
  }
}
