import { Injectable } from '@nestjs/common';
import { BackgroundJobsService } from '../background/background-jobs.service.js';
import { BACKGROUND_QUEUE } from '../background/background-queue.config.js';
import type { QueuesDto } from './dto/queues.dto.js';
import { QueuesRepository } from './queues.repository.js';

@Injectable()
export class QueuesService {
  constructor(
    private readonly repository: QueuesRepository,
    private readonly background: BackgroundJobsService,
  ) {}

  /** Returns counts of background jobs, open deliveries and dead letters of all tenants, and the running replicas. */
  async get(): Promise<QueuesDto> {
    const [jobs, deliveries, replicas, deadLetters] = await Promise.all([
      this.background.countJobs(),
      this.repository.countOpen(),
      this.repository.listReplicas(),
      this.repository.countDeadLetters(),
    ]);
    return {
      queues: [{ name: BACKGROUND_QUEUE, jobs }],
      deliveries,
      deadLetters,
      replicas: replicas.map(({ id, startedAt, heartbeatAt, partitions }) => ({
        id,
        startedAt: startedAt.toISOString(),
        heartbeatAt: heartbeatAt.toISOString(),
        partitions,
      })),
    };
  }
}
