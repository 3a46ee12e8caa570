import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A recovery that no job has finished: the failed deliveries after one position up to another. */
@Entity({ name: 'webhook_recovery' })
export class WebhookRecovery {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'webhook_id' }) webhookId!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  /** Null for a webhook of the partner. */
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'requested_at' }) requestedAt!: Date;
  /** The position of the last delivery that was read. */
  @Column('timestamptz', { name: 'after_created_at' }) afterCreatedAt!: Date;
  @Column('uuid', { name: 'after_id' }) afterId!: string;
  @Column('timestamptz', { name: 'until_created_at' }) untilCreatedAt!: Date;
  @Column('uuid', { name: 'until_id' }) untilId!: string;
}
