import { Injectable } from '@nestjs/common';
import { Queue, Worker } from 'bullmq';
import pTimeout from 'p-timeout';
import { jobContext, type JobContext, runJob } from '@rmm/messaging';
import { Logger, RedisConnections } from '@rmm/service-kit';
import { BACKGROUND_QUEUE, JOB_PRIORITIES, producerOptions, QUEUE_PREFIX } from './background-queue.config.js';

export type BackgroundJobName = keyof typeof JOB_PRIORITIES;

/** Runs the job of a key. @returns true when work is left: the job is added again, behind those that wait */
export type BackgroundJobHandler = (key: string) => Promise<boolean | void>;

/** Time limit of a command to the queue. */
const COMMAND_MS = 2_000;
/** Time for the jobs in progress to end when the process stops. */
const STOP_MS = 3_000;
/** Jobs at a time in each replica. */
const CONCURRENCY = 2;

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
 * Runs background jobs by BullMQ, two at a time in each replica. A job that is lost or fails is added again by the job
 * that looks for what is left to do in the table.
 */
@Injectable()
export class BackgroundJobsService {
  private readonly handlers = new Map<string, BackgroundJobHandler>();
  private queue: Queue<BackgroundJob> | undefined;
  private worker: Worker<BackgroundJob, boolean> | undefined;
  private readonly inProgress = new Set<Promise<boolean>>();
  private stopping = false;

  constructor(
    private readonly redis: RedisConnections,
    private readonly logger: Logger,
  ) {}

  /** Registers what runs the jobs of a name. */
  register(name: BackgroundJobName, handle: BackgroundJobHandler): void {
    this.handlers.set(name, handle);
  }

  /** True while the process stops: jobs end at the next chunk. */
  get isStopping(): boolean {
    return this.stopping;
  }

  start(): void {
    this.queue = new Queue(BACKGROUND_QUEUE, producerOptions(this.redis));
    this.worker = new Worker<BackgroundJob, boolean>(
      BACKGROUND_QUEUE,
      ({ name, data }) => runJob(name, data, () => this.track(this.handle(name, data.key))),
      { prefix: QUEUE_PREFIX, connection: this.redis.duplicate(), concurrency: CONCURRENCY },
    );
    this.worker.on('completed', ({ name, data }, isLeft) => {
      if (isLeft && !this.stopping) void this.add(name as BackgroundJobName, data.key);
    });
    // Connection errors are logged by RedisConnections.
    this.queue.on('error', () => undefined);
    this.worker.on('error', () => undefined);
  }

  /** Adds a job unless it is waiting already; never rejects. @returns false while Redis is unavailable */
  async add(name: BackgroundJobName, key: string): Promise<boolean> {
    if (!this.queue) return false;
    try {
      const data = { key, ...jobContext() };
      const options = { jobId: `${name}-${key}`.replaceAll(':', '-'), priority: JOB_PRIORITIES[name] };
      await withinTimeLimit(this.queue.add(name, data, options));
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
      const counts = await withinTimeLimit(
        this.queue.getJobCounts('waiting', 'prioritized', 'delayed', 'active', 'failed'),
      );
      const { waiting = 0, prioritized = 0, delayed = 0, active = 0, failed = 0 } = counts;
      return { waiting: waiting + prioritized, delayed, active, failed };
    } catch {
      return null;
    }
  }

  /** Lets the jobs in progress end at their next chunk; those that do not are repeated by another replica. */
  async stop(): Promise<void> {
    this.stopping = true;
    await pTimeout(Promise.allSettled(this.inProgress), { milliseconds: STOP_MS, message: false });
    await this.worker?.close(true).catch(() => undefined);
    await this.queue?.close().catch(() => undefined);
  }

  private track(work: Promise<boolean>): Promise<boolean> {
    this.inProgress.add(work);
    // A rejection is reported by the worker.
    void work.catch(() => undefined).finally(() => this.inProgress.delete(work));
    return work;
  }

  private async handle(name: string, key: string): Promise<boolean> {
    try {
      return (await this.handlers.get(name)?.(key)) === true;
    } catch (err) {
      this.logger.warn({ err, job: name }, 'background job failed; it is added again within a minute');
      throw err;
    }
  }
}

/** @throws TimeoutError  when Redis does not respond in time; the command may still take effect, which does no harm */
const withinTimeLimit = <T>(command: Promise<T>): Promise<T> => pTimeout(command, { milliseconds: COMMAND_MS });
