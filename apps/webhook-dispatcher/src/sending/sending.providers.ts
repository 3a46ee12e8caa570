import type { Provider } from '@nestjs/common';
import { Attempts } from './attempts.js';
import { ClaimsRepository } from './claims.repository.js';
import { DeadLetterQueue } from './dead-letter-queue.js';
import { InstanceLease } from './instance-lease.js';
import { OutcomeWriter } from './outcome-writer.js';
import { OutcomesRepository } from './outcomes.repository.js';
import { RetryFlow } from './retry-flow.js';
import { RetryQueue } from './retry-queue.js';
import { Sender } from './sender.js';
import { Sweeper } from './sweeper.js';

export const SENDING: Provider[] = [
  Attempts,
  ClaimsRepository,
  DeadLetterQueue,
  InstanceLease,
  OutcomeWriter,
  OutcomesRepository,
  RetryFlow,
  RetryQueue,
  Sender,
  Sweeper,
];
