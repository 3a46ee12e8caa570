import { Injectable } from '@nestjs/common';
import { Logger, RepeatedWork } from '@rmm/service-kit';
import { MailOutbox } from './mail-outbox.js';
import { MailRepository } from './mail.repository.js';

const BATCH = 200;

/** Queues mails whose job was lost or whose next try is due. Several replicas may sweep at once. */
@Injectable()
export class MailSweep extends RepeatedWork {
  protected readonly what = 'The mail sweep';
  protected readonly everyMs = 15_000;

  constructor(
    private readonly mails: MailRepository,
    private readonly outbox: MailOutbox,
    logger: Logger,
  ) {
    super(logger);
  }

  async run(): Promise<void> {
    for (const id of await this.mails.listDue(BATCH)) this.outbox.wake(id);
    await this.mails.purge(BATCH);
  }
}
