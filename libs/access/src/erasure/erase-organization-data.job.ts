import { Inject, Injectable } from '@nestjs/common';
import { PROVISIONING_ERASURES_REPORT, type ErasingService } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { Job, Logger, UnavailableError } from '@rmm/service-kit';
import { addCounts, ERASING_SERVICE, ORGANIZATION_ERASER, type OrganizationEraser } from './organization-eraser.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';

const RECORDS = 500;
/** Leaves the rest to the next run, so that a large organization does not keep the process from stopping. */
const BATCHES_PER_RUN = 200;
const REPORTS = 20;

/**
 * Erases what this service stores of erased organizations, in batches of one transaction each, and reports the numbers to
 * provisioning. Replicas may run it at the same time; a process that ends in between leaves the next batch to another one.
 */
@Injectable()
export class EraseOrganizationDataJob {
  constructor(
    private readonly erasures: OrganizationErasuresRepository,
    @Inject(ORGANIZATION_ERASER) private readonly eraser: OrganizationEraser,
    private readonly rpc: RpcClient,
    private readonly logger: Logger,
    @Inject(ERASING_SERVICE) private readonly service: ErasingService,
  ) {}

  @Job({ name: 'erase-organization-data', everyMs: 5_000 })
  async run(): Promise<void> {
    const skipped: string[] = [];
    for (let batch = 0; batch < BATCHES_PER_RUN && (await this.eraseNext(skipped)); batch += 1);
    await this.report();
  }

  /** An organization whose batch fails is left to the next run. @returns false when there is nothing to erase */
  private async eraseNext(skipped: string[]): Promise<boolean> {
    let orgId: string | undefined;
    try {
      return await this.erasures.transaction(async (tx) => {
        const erasure = await this.erasures.claim(tx, skipped);
        if (erasure === null) return false;
        orgId = erasure.orgId;
        const batch = await this.eraser.eraseBatch(tx, erasure, RECORDS);
        if (batch === null) await this.erasures.finish(tx, erasure);
        else await this.erasures.saveCounts(tx, { ...erasure, erased: addCounts(erasure.erased, batch) });
        return true;
      });
    } catch (err) {
      if (orgId === undefined) throw err;
      this.logger.error({ err, orgId }, 'erasing data of an organization failed; the next run tries again');
      skipped.push(orgId);
      return true;
    }
  }

  /**
   * A refused report is not repeated, so that it does not hold up the others: provisioning, restored from an earlier backup, does
   * not know the erasure. It announces each one again that it starts, or that has no report after an hour.
   */
  private async report(): Promise<void> {
    for (const { orgId, partnerId, erased } of await this.erasures.listUnreported(REPORTS)) {
      try {
        await this.rpc.call(PROVISIONING_ERASURES_REPORT, { orgId, partnerId, service: this.service, erased });
      } catch (err) {
        if (err instanceof UnavailableError) throw err;
        this.logger.error({ err, orgId }, 'the report of an erasure was refused');
      }
      await this.erasures.markReported({ orgId, partnerId });
    }
  }
}
