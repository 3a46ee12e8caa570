import { DiscoveryService } from '@nestjs/core';

export interface JobOptions {
  /** Unique in the service; names the job in logs: `expire-api-keys`. */
  name: string;
  /** Milliseconds between two starts. A run that takes longer delays the next one. */
  everyMs: number;
  /**
   * Milliseconds from the start of the service to the first run; `everyMs` when absent. Of a job with a long interval, since
   * a replica may live for less than that.
   */
  firstAfterMs?: number;
}

/**
 * Runs a method of a provider (`run()` in a `*.job.ts`) repeatedly for as long as the service runs. A job never overlaps
 * itself in one process; replicas may run it at the same time. A failure is logged, and the next run tries again.
 */
export const Job = DiscoveryService.createDecorator<JobOptions>();
