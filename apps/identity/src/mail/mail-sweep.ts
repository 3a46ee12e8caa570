import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { MailOutbox } from './mail-outbox.js';
import { MailRepository } from './mail.repository.js';

const BATCH = 200;

/** Queues mails whose job was lost or whose next try is due. Several replicas may sweep at once. */
@Injectable()
export class MailSweep {
  constructor(
    private readonly mails: MailRepository,
    private readonly outbox: MailOutbox,
  ) {}

  @Job({ name: 'sweep-mail', everyMs: 15_000 })
  async run(): Promise<void> {
    for (const id of await this.mails.listDue(BATCH)) this.outbox.wake(id);
    await this.mails.purge(BATCH);
  }
}
