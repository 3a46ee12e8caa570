import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { WebhookHeader } from '../webhooks/webhook-headers.policy.js';

/** The headers that the requests of a webhook carry, stored once per version of the webhook. */
@Entity({ name: 'request_shape' })
export class StoredRequestShape {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'webhook_id' }) webhookId!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  /** Null for a webhook of the partner. */
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  /** The names in the order they were sent. */
  @Column('text', { array: true }) names!: string[];
  /** The webhook's custom headers, values sealed. */
  @Column('jsonb') headers!: WebhookHeader[];
  @CreateDateColumn({ type: 'timestamptz', name: 'first_used_at' }) firstUsedAt!: Date;
}
