import { Column, Entity, PrimaryColumn } from 'typeorm';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'retrying'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The delivery of an event to a webhook: history and queue in one. A partition for each day. */
@Entity({ name: 'delivery' })
export class Delivery {
  @PrimaryColumn('uuid') id!: string;
  @PrimaryColumn('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  /** Null for a delivery of a webhook of the partner. */
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  /** The organization of the event when `orgId` is null; null for a test. */
  @Column('uuid', { name: 'event_org_id', nullable: true }) eventOrgId!: string | null;
  @Column('uuid', { name: 'webhook_id' }) webhookId!: string;
  @Column('text', { name: 'event_type' }) eventType!: string;
  @Column('text', { name: 'event_id' }) eventId!: string;
  @Column('text', { default: 'pending' }) status!: DeliveryStatus;
  /** Attempts made. */
  @Column('integer', { default: 0 }) attempt!: number;
  @Column('integer', { name: 'max_attempts' }) maxAttempts!: number;
  @Column('timestamptz', { name: 'due_at' }) dueAt!: Date;
  /** Counts the updates of the row; 0 for a delivery that was stored with its final state. */
  @Column('smallint', { default: 0 }) revision!: number;
  /** The delivery that a manual retry or a recovery sends again. */
  @Column('uuid', { name: 'repeat_of', nullable: true }) repeatOf!: string | null;
  /** When the last attempt began; null when there was none. */
  @Column('timestamptz', { name: 'started_at', nullable: true }) startedAt!: Date | null;
  @Column('uuid', { name: 'request_shape', nullable: true }) requestShape!: string | null;
  @Column('integer', { name: 'response_status', nullable: true }) responseStatus!: number | null;
  @Column('text', { name: 'response_headers', nullable: true }) responseHeaders!: string | null;
  @Column('text', { name: 'response_body', nullable: true }) responseBody!: string | null;
  @Column('integer', { name: 'response_time_ms', nullable: true }) responseTimeMs!: number | null;
  @Column('text', { name: 'error_message', nullable: true }) errorMessage!: string | null;
  @Column('timestamptz', { name: 'delivered_at', nullable: true }) deliveredAt!: Date | null;
}
