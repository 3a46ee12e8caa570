import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AsyncResource } from 'node:async_hooks';
import { Logger } from '../logging/logger.service.js';
import { Job, type JobOptions } from './job.decorator.js';

/** Starts every `@Job` of the service once it has started, and waits for running jobs when the service stops. */
@Injectable()
export class JobScheduler implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly running = new Map<string, Promise<void>>();
  private readonly starts = new Map<string, () => void>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly registry: SchedulerRegistry,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    const seen = new Set<unknown>([null]); // an alias (`useExisting`) has the same instance
    for (const provider of this.discovery.getProviders()) {
      const instance: unknown = provider.isDependencyTreeStatic() ? provider.instance : null;
      if (typeof instance !== 'object' || seen.has(instance)) continue;
      seen.add(instance);
      for (const method of this.scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object)) {
        const options = this.discovery.getMetadataByDecorator(Job, provider, method);
        if (options) this.schedule(options, () => (instance as Record<string, () => Promise<unknown>>)[method]());
      }
    }
  }

  /**
   * Starts a job now unless it runs, so that what was just stored for it need not wait for its interval. The job does not
   * run in the context of the request that starts it, whose deadline would end its statements.
   */
  start(name: string): void {
    this.starts.get(name)?.();
  }

  async onModuleDestroy(): Promise<void> {
    this.starts.clear();
    for (const name of this.registry.getIntervals()) this.registry.deleteInterval(name);
    for (const name of this.registry.getTimeouts()) this.registry.deleteTimeout(name);
    await Promise.all(this.running.values());
  }

  private schedule({ name, everyMs, firstAfterMs }: JobOptions, run: () => Promise<unknown>): void {
    const start = AsyncResource.bind(() => {
      if (!this.running.has(name)) this.running.set(name, this.runOnce(name, run));
    });
    this.starts.set(name, start);
    this.registry.addInterval(name, setInterval(start, everyMs).unref());
    if (firstAfterMs !== undefined) this.registry.addTimeout(name, setTimeout(start, firstAfterMs).unref());
  }

  private async runOnce(job: string, run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (err) {
      this.logger.warn({ err, job }, 'job failed; it is tried again at its next interval');
    } finally {
      this.running.delete(job);
    }
  }
}
