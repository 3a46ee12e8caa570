import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { MailRepository } from './mail.repository.js';
import { MailService } from './mail.service.js';

const BATCH = 200;

/** Queues mails whose job was lost or whose next attempt is due, and deletes old ones. Replicas may run it at once. */
@Injectable()
export class SweepMailsJob {
  constructor(
    private readonly mails: MailRepository,
    private readonly service: MailService,
  ) {}

  @Job({ name: 'sweep-mails', everyMs: 15_000 })
  async run(): Promise<void> {
    for (const id of await this.mails.listDue(BATCH)) this.service.enqueue(id);
    await this.mails.purge(BATCH);
  }
}
