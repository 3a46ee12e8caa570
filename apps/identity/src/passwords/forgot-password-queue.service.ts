import { InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import { jobContext, type JobContext } from '@rmm/messaging';
import { KeyRing } from '@rmm/secrets';
import { UnavailableError } from '@rmm/service-kit';

export const FORGOT_PASSWORD_QUEUE = 'identity-forgot-password';
const JOB = 'forgot';
const SEAL_CONTEXT = 'forgot-password.job';
const WAIT_MS = 2_000;
/** Retries for about two minutes, so that a short outage of a store loses no request; after that users request again. */
const RETRIES = { attempts: 8, backoff: { type: 'exponential', delay: 1_000 } };

/** The job as stored in Redis: the address is sealed. */
export interface ForgotPasswordJob {
  sealed: string;
}

/** The unsealed content of a job. */
export type ForgotPasswordRequest = JobContext & { email: string };

/** Queues requests for a new password, so that the response time does not depend on the account. */
@Injectable()
export class ForgotPasswordQueue {
  constructor(
    @InjectQueue(FORGOT_PASSWORD_QUEUE) private readonly queue: Queue<ForgotPasswordJob>,
    private readonly keyRing: KeyRing,
  ) {
    queue.on('error', () => undefined); // logged by RedisConnections
  }

  /** @throws UnavailableError when Redis is down */
  async add(email: string): Promise<void> {
    const request: ForgotPasswordRequest = { email, ...jobContext() };
    const sealed = this.keyRing.seal(JSON.stringify(request), SEAL_CONTEXT);
    const options = { ...RETRIES, removeOnComplete: true, removeOnFail: true };
    const added = this.queue.add(JOB, { sealed }, options).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([added, sleep(WAIT_MS, false, { ref: false })]))) throw new UnavailableError();
  }

  /** Unseals a job. */
  open({ sealed }: ForgotPasswordJob): ForgotPasswordRequest {
    return JSON.parse(this.keyRing.open(sealed, SEAL_CONTEXT)) as ForgotPasswordRequest;
  }
}
