import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A deleted webhook whose history is not purged yet. */
@Entity({ name: 'deleted_webhook' })
export class DeletedWebhook {
  @PrimaryColumn('uuid', { name: 'webhook_id' }) webhookId!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  /** Null for a webhook of the partner. */
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'deleted_at' }) deletedAt!: Date;
}
