import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { OPEN_DAYS } from '../sending/claims.repository.js';
import { DEAD_LETTER_QUEUE, DeadLetterQueueService } from '../background-queues/dead-letter-queue.service.js';
import { RETRY_QUEUE, RetryQueueService } from '../background-queues/retry-queue.service.js';
import type { QueuesDto, ReplicaDto, WaitingDeliveriesDto } from './dto/queues.dto.js';

const OPEN = `status in ('pending', 'retrying') and created_at > now() - interval '${OPEN_DAYS} days'`;

// Served by the indexes over what is due and what is held, which are as small as what they count.
const WAITING = `
  select (count(*) filter (where due_at <= now()))::int as due, (count(*) filter (where due_at > now()))::int as scheduled,
         extract(epoch from now() - min(due_at) filter (where due_at <= now()))::int as "oldestDueSeconds"
    from delivery where lease_owner is null and ${OPEN}`;
const REPLICAS = `
  select i.id, i.started_at as "startedAt", i.lease_until as "leaseUntil", coalesce(h.held, 0)::int as held
    from dispatcher_instance i
    left join (
      select lease_owner, count(*) as held from delivery
       where lease_owner is not null and created_at > now() - interval '${OPEN_DAYS} days' group by lease_owner
    ) h on h.lease_owner = i.id
   order by i.started_at, i.id`;

type ReplicaRow = Omit<ReplicaDto, 'startedAt' | 'leaseUntil'> & { startedAt: Date; leaseUntil: Date };

/** What an operator looks at: across tenants, counts alone. */
@Injectable()
export class QueuesService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly retries: RetryQueueService,
    private readonly deadLetters: DeadLetterQueueService,
  ) {}

  async get(): Promise<QueuesDto> {
    const [retryJobs, deadLetterJobs, [waiting], replicas, [letters]] = await Promise.all([
      this.retries.counts(),
      this.deadLetters.counts(),
      this.worker.query<Omit<WaitingDeliveriesDto, 'held'>>(WAITING),
      this.worker.query<ReplicaRow>(REPLICAS),
      this.worker.query<{ count: number }>('select count(*)::int as count from dead_letter'),
    ]);
    const { due = 0, scheduled = 0, oldestDueSeconds = null } = waiting ?? {};
    const held = replicas.reduce((sum, replica) => sum + replica.held, 0);
    return {
      queues: [
        { name: RETRY_QUEUE, jobs: retryJobs },
        { name: DEAD_LETTER_QUEUE, jobs: deadLetterJobs },
      ],
      deliveries: { due, scheduled, held, oldestDueSeconds },
      deadLetters: letters?.count ?? 0,
      replicas: replicas.map((replica) => ({
        ...replica,
        startedAt: replica.startedAt.toISOString(),
        leaseUntil: replica.leaseUntil.toISOString(),
      })),
    };
  }
}
