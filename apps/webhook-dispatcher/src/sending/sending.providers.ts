import type { Provider } from '@nestjs/common';
import { Attempts } from './attempts.js';
import { Breakers } from './breaker/breakers.js';
import { ClaimsRepository } from './claims.repository.js';
import { DeadLetterQueue } from './dead-letter-queue.js';
import { LeasedDeliveries } from './leased-deliveries.js';
import { InstanceLease } from './instance-lease.js';
import { OutcomeWriter } from './outcome-writer.js';
import { OutcomesRepository } from './outcomes.repository.js';
import { Backlog } from './backlog.js';
import { RetryFlow } from './retry-flow.js';
import { RetryPace } from './retry-pace.js';
import { RetryQueue } from './retry-queue.js';
import { LeaseReleases } from './lease-releases.js';
import { Sender } from './sender.js';
import { Replicas } from './shards/replicas.js';
import { Shards } from './shards/shards.js';
import { ShardsRepository } from './shards/shards.repository.js';
import { OrphanedLeases } from './orphaned-leases.js';
import { Sweeper } from './sweeper.js';

export const SENDING: Provider[] = [
  Attempts,
  Breakers,
  ClaimsRepository,
  DeadLetterQueue,
  LeasedDeliveries,
  InstanceLease,
  OutcomeWriter,
  OutcomesRepository,
  Backlog,
  Replicas,
  RetryFlow,
  RetryPace,
  RetryQueue,
  LeaseReleases,
  Sender,
  Shards,
  ShardsRepository,
  OrphanedLeases,
  Sweeper,
];
