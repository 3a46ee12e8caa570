import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A delivery that used up its retries and has not been retried since. A partition for each day. */
@Entity({ name: 'dead_letter' })
export class DeadLetter {
  @PrimaryColumn('uuid', { name: 'delivery_id' }) deliveryId!: string;
  @PrimaryColumn('timestamptz', { name: 'failed_at' }) failedAt!: Date;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  /** The organization of the event when `orgId` is null; null for a test. */
  @Column('uuid', { name: 'event_org_id', nullable: true }) eventOrgId!: string | null;
  @Column('uuid', { name: 'webhook_id' }) webhookId!: string;
  @Column('text', { name: 'event_type' }) eventType!: string;
  @Column('text', { name: 'event_id' }) eventId!: string;
  /** Attempts made. */
  @Column('integer') attempts!: number;
  @Column('integer', { name: 'response_status', nullable: true }) responseStatus!: number | null;
  @Column('text', { name: 'error_message', nullable: true }) errorMessage!: string | null;
}
