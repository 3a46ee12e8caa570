import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Counts the deliveries of a webhook as they end. A separate table, since the sender updates it all the time. */
@Entity({ name: 'webhook_counter' })
export class WebhookCounter {
  @PrimaryColumn('uuid', { name: 'webhook_id' }) webhookId!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  @Column('bigint', { default: 0 }) total!: string;
  @Column('bigint', { default: 0 }) delivered!: string;
  @Column('bigint', { default: 0 }) failed!: string;
  @Column('bigint', { default: 0 }) retrying!: string;
  @Column('timestamptz', { name: 'last_delivery_at', nullable: true }) lastDeliveryAt!: Date | null;
  @Column('timestamptz', { name: 'last_success_at', nullable: true }) lastSuccessAt!: Date | null;
  /** The first failed attempt since the last successful one. */
  @Column('timestamptz', { name: 'failing_since', nullable: true }) failingSince!: Date | null;
  /** When the webhook was set to failed, until its organization has been notified. */
  @Column('timestamptz', { name: 'mail_due_for', nullable: true }) mailDueFor!: Date | null;
  /** Until when the receiver asked for no attempts; null or past without a pause. */
  @Column('timestamptz', { name: 'paused_until', nullable: true }) pausedUntil!: Date | null;
}
