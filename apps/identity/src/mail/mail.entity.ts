import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { MailTemplateName } from './mail-templates.js';

/** A mail to be sent. It stays for a week after it was sent or given up. */
@Entity('mail')
export class Mail {
  @PrimaryColumn('uuid')
  id: string;

  /** A second mail with the same key is not stored. */
  @Column('text', { name: 'idempotency_key', nullable: true })
  idempotencyKey: string | null;

  @Column('text')
  recipient: string;

  @Column('text')
  template: MailTemplateName;

  /** A BCP 47 tag; empty to look up the recipient's when the mail is sent. */
  @Column('text', { default: 'en' })
  locale: string;

  /** The values of the template, sealed for `mailSealContext(id)`; null once the mail was sent. */
  @Column('text', { name: 'values_sealed', nullable: true })
  valuesSealed: string | null;

  @Column('integer', { default: 0 })
  attempts: number;

  @Column('text', { name: 'last_error', nullable: true })
  lastError: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'next_attempt_at', default: () => 'now()' })
  nextAttemptAt: Date;

  @Column('timestamptz', { name: 'sent_at', nullable: true })
  sentAt: Date | null;

  /** When sending was given up. */
  @Column('timestamptz', { name: 'abandoned_at', nullable: true })
  abandonedAt: Date | null;
}
