import type { Provider } from '@nestjs/common';
import { Attempts } from './attempts.js';
import { Breakers } from './breaker/breakers.js';
import { ClaimsRepository } from './claims.repository.js';
import { DeadLetterQueue } from './dead-letter-queue.js';
import { HeldDeliveries } from './held-deliveries.js';
import { InstanceLease } from './instance-lease.js';
import { OutcomeWriter } from './outcome-writer.js';
import { OutcomesRepository } from './outcomes.repository.js';
import { Parking } from './parking.js';
import { RetryFlow } from './retry-flow.js';
import { RetryPace } from './retry-pace.js';
import { RetryQueue } from './retry-queue.js';
import { Returns } from './returns.js';
import { Sender } from './sender.js';
import { Replicas } from './shards/replicas.js';
import { Shards } from './shards/shards.js';
import { ShardsRepository } from './shards/shards.repository.js';
import { Strays } from './strays.js';
import { Sweeper } from './sweeper.js';

export const SENDING: Provider[] = [
  Attempts,
  Breakers,
  ClaimsRepository,
  DeadLetterQueue,
  HeldDeliveries,
  InstanceLease,
  OutcomeWriter,
  OutcomesRepository,
  Parking,
  Replicas,
  RetryFlow,
  RetryPace,
  RetryQueue,
  Returns,
  Sender,
  Shards,
  ShardsRepository,
  Strays,
  Sweeper,
];
