import { Injectable } from '@nestjs/common';
import { Job, Logger } from '@rmm/service-kit';
import { RestampRepository } from './restamp.repository.js';

const BATCH = 500;
/** Requests that are worked on at a time; others wait until some of these have ended. */
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
    const left = new Set<string>(); // ended, or to be tried by the next run
    const listNext = async () => (await this.restamps.listRequests(REQUESTS)).filter((id) => !left.has(id));
    for (let requests = await listNext(); requests.length > 0; requests = await listNext()) {
      for (const id of requests) if (!(await this.hasMore(id))) left.add(id);
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
