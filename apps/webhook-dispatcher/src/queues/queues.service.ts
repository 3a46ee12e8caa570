import { Injectable } from '@nestjs/common';
import { DEAD_LETTER_QUEUE, DeadLetterQueueService } from '../background-queues/dead-letter-queue.service.js';
import { RETRY_QUEUE, RetryQueueService } from '../background-queues/retry-queue.service.js';
import type { QueuesDto } from './dto/queues.dto.js';
import { QueuesRepository } from './queues.repository.js';

@Injectable()
export class QueuesService {
  constructor(
    private readonly repository: QueuesRepository,
    private readonly retries: RetryQueueService,
    private readonly deadLetters: DeadLetterQueueService,
  ) {}

  /** Returns counts of queues, open deliveries and dead letters of all tenants, and the running replicas. */
  async get(): Promise<QueuesDto> {
    const [retryJobs, deadLetterJobs, { due, scheduled, oldestDueSeconds }, replicas, deadLetters] = await Promise.all([
      this.retries.countJobs(),
      this.deadLetters.countJobs(),
      this.repository.countWaiting(),
      this.repository.listReplicas(),
      this.repository.countDeadLetters(),
    ]);
    return {
      queues: [
        { name: RETRY_QUEUE, jobs: retryJobs },
        { name: DEAD_LETTER_QUEUE, jobs: deadLetterJobs },
      ],
      deliveries: { due, scheduled, held: replicas.reduce((sum, { leased }) => sum + leased, 0), oldestDueSeconds },
      deadLetters,
      replicas: replicas.map(({ id, startedAt, leaseUntil, leased }) => ({
        id,
        startedAt: startedAt.toISOString(),
        leaseUntil: leaseUntil.toISOString(),
        held: leased,
      })),
    };
  }
}
