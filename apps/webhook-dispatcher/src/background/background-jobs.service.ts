import { Injectable } from '@nestjs/common';
import { Queue, Worker } from 'bullmq';
import { jobContext, type JobContext, runJob } from '@rmm/messaging';
import { Logger, RedisConnections } from '@rmm/service-kit';
import { BACKGROUND_QUEUE, producerOptions, QUEUE_PREFIX, withinQueueTimeout } from './background-queue.config.js';

export type BackgroundJobName = 'purge-webhook' | 'auto-fail-mails';

interface BackgroundJob extends JobContext {
  /** The id of what the job is about. */
  key: string;
}

/** The jobs of the queue by state. */
export interface JobCounts {
  waiting: number;
  delayed: number;
  active: number;
  failed: number;
}

/**
 * Runs background jobs by BullMQ, one at a time in each replica. A job that is lost or fails is added again by the job
 * that looks for what is left to do in the table.
 */
@Injectable()
export class BackgroundJobsService {
  private readonly handlers = new Map<string, (key: string) => Promise<void>>();
  private queue: Queue<BackgroundJob> | undefined;
  private worker: Worker<BackgroundJob> | undefined;

  constructor(
    private readonly redis: RedisConnections,
    private readonly logger: Logger,
  ) {}

  /** Registers what runs the jobs of a name. */
  register(name: BackgroundJobName, handle: (key: string) => Promise<void>): void {
    this.handlers.set(name, handle);
  }

  start(): void {
    this.queue = new Queue(BACKGROUND_QUEUE, producerOptions(this.redis));
    this.worker = new Worker<BackgroundJob>(
      BACKGROUND_QUEUE,
      ({ name, data }) => runJob(data, () => this.handle(name, data.key)),
      { prefix: QUEUE_PREFIX, connection: this.redis.duplicate(), concurrency: 1 },
    );
    // Connection errors are logged by RedisConnections.
    this.queue.on('error', () => undefined);
    this.worker.on('error', () => undefined);
  }

  /** Adds a job unless it is waiting already; never rejects. @returns false while Redis is unavailable */
  async add(name: BackgroundJobName, key: string): Promise<boolean> {
    if (!this.queue) return false;
    try {
      const data = { key, ...jobContext() };
      await withinQueueTimeout(this.queue.add(name, data, { jobId: `${name}-${key}`.replaceAll(':', '-') }));
      return true;
    } catch (err) {
      this.logger.warn({ err, job: name }, 'background job was not added; it is added again within a minute');
      return false;
    }
  }

  /** Returns null while Redis is unavailable. */
  async countJobs(): Promise<JobCounts | null> {
    if (!this.queue) return null;
    try {
      const counts = await withinQueueTimeout(this.queue.getJobCounts('waiting', 'delayed', 'active', 'failed'));
      const { waiting = 0, delayed = 0, active = 0, failed = 0 } = counts;
      return { waiting, delayed, active, failed };
    } catch {
      return null;
    }
  }

  async stop(): Promise<void> {
    await this.worker?.close(true).catch(() => undefined);
    await this.queue?.close().catch(() => undefined);
  }

  private async handle(name: string, key: string): Promise<void> {
    try {
      await this.handlers.get(name)?.(key);
    } catch (err) {
      this.logger.warn({ err, job: name }, 'background job failed; it is added again within a minute');
      throw err;
    }
  }
}
