import { Injectable } from '@nestjs/common';
import { Job, Logger } from '@rmm/service-kit';
import { RestampRepository } from './restamp.repository.js';

const BATCH = 500;
/** Requests of one run; the next run begins with the oldest ones that are left. */
const REQUESTS = 1_000;

/**
 * Stamps the records of organizations that are visible again, a batch of each organization after the other, so that none
 * waits for a large one. Replicas may run it at the same time.
 */
@Injectable()
export class RestampExportsJob {
  constructor(
    private readonly restamps: RestampRepository,
    private readonly logger: Logger,
  ) {}

  @Job({ name: 'restamp-exports', everyMs: 1_000 })
  async run(): Promise<void> {
    let requests = await this.restamps.listRequests(REQUESTS);
    while (requests.length > 0) {
      const unfinished: string[] = [];
      for (const id of requests) if (await this.hasMore(id)) unfinished.push(id);
      requests = unfinished;
    }
  }

  /** A request that fails does not hold up those of other organizations. */
  private async hasMore(id: string): Promise<boolean> {
    try {
      return await this.restamps.stampRecords(id, BATCH);
    } catch (err) {
      this.logger.error({ err, requestId: id }, 'records could not be stamped; the next run tries again');
      return false;
    }
  }
}
