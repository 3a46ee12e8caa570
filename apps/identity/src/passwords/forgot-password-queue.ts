import { setTimeout as sleep } from 'node:timers/promises';
import { BullModule, InjectQueue } from '@nestjs/bullmq';
import { Injectable, Module } from '@nestjs/common';
import { jobContext, type JobContext } from '@rmm/messaging';
import { KeyRing } from '@rmm/secrets';
import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import type { Queue } from 'bullmq';

export const FORGOT_PASSWORD_QUEUE = 'identity-forgot-password';
const JOB = 'forgot';
const SEAL_CONTEXT = 'forgot-password.job';
const WAIT_MS = 2_000;
/** A store that is away for a minute or two loses nobody's request; after that users ask again. */
const RETRIES = { attempts: 8, backoff: { type: 'exponential', delay: 1_000 } };

/** Nothing in it can be read in Redis: who asked is sealed. */
export interface ForgotPasswordJob {
  sealed: string;
}

/** What a job says once it is opened. */
export type ForgottenPassword = JobContext & { email: string };

/** Where the queue lives; its worker stands beside it. */
@Module({
  imports: [
    BullModule.registerQueueAsync({
      name: FORGOT_PASSWORD_QUEUE,
      inject: [RedisConnections],
      useFactory: (redis: RedisConnections) => ({
        connection: redis.duplicate(),
        prefix: `{rmm:${FORGOT_PASSWORD_QUEUE}}`,
        skipVersionCheck: true,
      }),
    }),
  ],
  exports: [BullModule],
})
export class ForgotPasswordQueueModule {}

/** Requests for a new password on their way to a worker: whoever asks cannot tell what is done with it. */
@Injectable()
export class ForgotPasswordQueue {
  constructor(
    @InjectQueue(FORGOT_PASSWORD_QUEUE) private readonly queue: Queue<ForgotPasswordJob>,
    private readonly keyRing: KeyRing,
  ) {
    queue.on('error', () => undefined); // RedisConnections has logged it
  }

  /** @throws UnavailableError when Redis is away */
  async add(email: string): Promise<void> {
    const asked: ForgottenPassword = { email, ...jobContext() };
    const sealed = this.keyRing.seal(JSON.stringify(asked), SEAL_CONTEXT);
    const options = { ...RETRIES, removeOnComplete: true, removeOnFail: true };
    const added = this.queue.add(JOB, { sealed }, options).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([added, sleep(WAIT_MS, false, { ref: false })]))) throw new UnavailableError();
  }

  open({ sealed }: ForgotPasswordJob): ForgottenPassword {
    return JSON.parse(this.keyRing.open(sealed, SEAL_CONTEXT)) as ForgottenPassword;
  }
}
