import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Logger } from '@rmm/service-kit';
import { MailOutbox } from './mail-outbox.js';
import { MailRepository } from './mail.repository.js';

const EVERY_MS = 15_000;
const BATCH = 200;

/** Queues mails whose job was lost or whose next try is due. Several replicas may sweep at once. */
@Injectable()
export class MailSweep implements OnApplicationBootstrap, OnModuleDestroy {
  private timer?: NodeJS.Timeout;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly mails: MailRepository,
    private readonly outbox: MailOutbox,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.runInBackground(), EVERY_MS).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  async run(): Promise<void> {
    for (const id of await this.mails.listDue(BATCH)) this.outbox.wake(id);
    await this.mails.purge(BATCH);
  }

  private runInBackground(): void {
    this.running = this.run().catch((err: unknown) => this.logger.warn({ err }, 'The mail sweep failed'));
  }
}
