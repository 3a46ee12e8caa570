import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An attempt that was followed by another; the last one is stored in its delivery. A partition for each day. */
@Entity({ name: 'attempt' })
export class Attempt {
  @PrimaryColumn('uuid', { name: 'delivery_id' }) deliveryId!: string;
  /** The time of the delivery, so that both are in partitions of the same day. */
  @PrimaryColumn('timestamptz', { name: 'created_at' }) createdAt!: Date;
  /** Counts from 1. */
  @PrimaryColumn('integer') attempt!: number;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('uuid', { name: 'org_id', nullable: true }) orgId!: string | null;
  @Column('timestamptz', { name: 'started_at' }) startedAt!: Date;
  @Column('integer', { name: 'duration_ms', nullable: true }) durationMs!: number | null;
  @Column('uuid', { name: 'request_shape', nullable: true }) requestShape!: string | null;
  @Column('integer', { name: 'response_status', nullable: true }) responseStatus!: number | null;
  @Column('text', { name: 'response_headers', nullable: true }) responseHeaders!: string | null;
  @Column('text', { name: 'response_body', nullable: true }) responseBody!: string | null;
  @Column('text', { name: 'error_message', nullable: true }) errorMessage!: string | null;
}
