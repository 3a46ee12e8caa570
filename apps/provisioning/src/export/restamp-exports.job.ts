import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { RestampRepository } from './restamp.repository.js';

const BATCH = 500;

/** Stamps the records of organizations that are visible again. Replicas may run it at the same time. */
@Injectable()
export class RestampExportsJob {
  constructor(private readonly restamps: RestampRepository) {}

  @Job({ name: 'restamp-exports', everyMs: 1_000 })
  async run(): Promise<void> {
    while (await this.restamps.stampNext(BATCH));
  }
}
