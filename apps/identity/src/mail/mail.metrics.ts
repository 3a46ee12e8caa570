import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';
import { MailRepository, type MailBacklog } from './mail.repository.js';

/** The metrics of mails. */
@Injectable()
export class MailMetrics implements OnApplicationBootstrap {
  private readonly attempts;
  private reading?: Promise<MailBacklog>;

  constructor(
    private readonly metrics: MetricsRegistry,
    private readonly mails: MailRepository,
  ) {
    this.attempts = metrics.counter({
      name: 'rmm_mail_attempts_total',
      help: 'Attempts to send a mail: sent, failed (tried again later), abandoned (the last attempt failed)',
      labelNames: ['outcome'],
    });
  }

  /** Registers the gauges once the schema is migrated. */
  onApplicationBootstrap(): void {
    const readBacklog = () => this.readBacklog();
    const gauge = (name: string, help: string, valueOf: (backlog: MailBacklog) => number) =>
      this.metrics.gauge({
        name,
        help,
        async collect() {
          this.set(valueOf(await readBacklog()));
        },
      });
    gauge('rmm_mail_waiting', 'Mails not sent yet; the same on each replica', ({ waiting }) => waiting);
    gauge(
      'rmm_mail_oldest_due_seconds',
      'How long the next attempt of the oldest mail has been due; the same on each replica',
      ({ oldestDueSeconds }) => oldestDueSeconds,
    );
  }

  countAttempt(outcome: 'sent' | 'failed' | 'abandoned'): void {
    this.attempts.inc({ outcome });
  }

  /** Reads the backlog once for the gauges of a scrape. */
  private readBacklog(): Promise<MailBacklog> {
    this.reading ??= this.mails.readBacklog().finally(() => (this.reading = undefined));
    return this.reading;
  }
}
