import { Injectable } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { currentContext, runInContext, type RequestContext } from '../context/request-context.js';
import { Logger } from '../logging/logger.service.js';
import { JobScheduler } from './job-scheduler.service.js';
import { Job } from './job.decorator.js';

@Injectable()
class CountingJob {
  runs = 0;
  concurrent = 0;
  maxConcurrent = 0;
  failing = false;

  @Job({ name: 'count-runs', everyMs: 1 })
  async run(): Promise<void> {
    this.runs += 1;
    this.maxConcurrent = Math.max(this.maxConcurrent, ++this.concurrent);
    await sleep(5);
    this.concurrent -= 1;
    if (this.failing) throw new Error('database is down');
  }
}

@Injectable()
class HourlyJob {
  runs = 0;
  context: RequestContext | undefined;

  @Job({ name: 'count-hours', everyMs: 3_600_000, firstAfterMs: 5 })
  run(): Promise<void> {
    this.runs += 1;
    this.context = currentContext();
    return Promise.resolve();
  }
}

describe('JobScheduler', () => {
  let app: TestingModule;
  let job: CountingJob;
  let warnings: { fields: Record<string, unknown>; text: string }[];

  beforeEach(async () => {
    warnings = [];
    const logger = { warn: (fields: Record<string, unknown>, text: string) => void warnings.push({ fields, text }) };
    app = await Test.createTestingModule({
      imports: [DiscoveryModule, ScheduleModule.forRoot()],
      providers: [CountingJob, HourlyJob, JobScheduler, { provide: Logger, useValue: logger }],
    }).compile();
    await app.init();
    job = app.get(CountingJob);
  });
  afterEach(() => app.close());

  const until = async (isTrue: () => boolean) => {
    while (!isTrue()) await sleep(1);
  };

  it('runs a job repeatedly and never twice at once', async () => {
    await until(() => job.runs >= 3);
    expect(job.maxConcurrent).toBe(1);
  });

  it('runs a job with a long interval once after the start', async () => {
    const hourly = app.get(HourlyJob);
    await until(() => hourly.runs > 0);
    expect(hourly.runs).toBe(1);
  });

  it('starts a job before its interval when asked to, and not while it runs', async () => {
    const hourly = app.get(HourlyJob);
    await until(() => hourly.runs === 1);
    const scheduler = app.get(JobScheduler);
    await until(() => (scheduler.start('count-hours'), hourly.runs === 2));
    await until(() => job.concurrent === 1);
    scheduler.start('count-runs');
    expect(job.concurrent).toBe(1);
  });

  it('runs a job outside of the context of the request that starts it', async () => {
    const hourly = app.get(HourlyJob);
    await until(() => hourly.runs === 1);
    await runInContext({ requestId: 'r-1' }, async () => {
      await until(() => (app.get(JobScheduler).start('count-hours'), hourly.runs > 1));
    });
    expect(hourly.context).toBeUndefined();
  });

  it('logs a failure with the name of the job and runs it again', async () => {
    job.failing = true;
    await until(() => warnings.length >= 2);
    expect(warnings[0]).toMatchObject({
      fields: { job: 'count-runs' },
      text: 'job failed; it is tried again at its next interval',
    });
  });

  it('waits for a running job when the service stops and starts no other', async () => {
    await until(() => job.concurrent === 1);
    await app.close();
    expect(job.concurrent).toBe(0);
    const { runs } = job;
    app.get(JobScheduler).start('count-runs');
    await sleep(10);
    expect(job.runs).toBe(runs);
  });
});
