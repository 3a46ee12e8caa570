import { CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A batch of uses that was counted; a batch that is sent again is ignored. */
@Entity({ name: 'key_usage_batch' })
export class KeyUsageBatch {
  @PrimaryColumn('uuid', { name: 'batch_id' }) batchId!: string;
  @CreateDateColumn({ type: 'timestamptz', name: 'received_at' }) receivedAt!: Date;
}
