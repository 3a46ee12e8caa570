import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A replica that leases deliveries and shards; all its leases end when it stops renewing. */
@Entity({ name: 'dispatcher_instance' })
export class DispatcherInstance {
  @PrimaryColumn('uuid') id!: string;
  @CreateDateColumn({ type: 'timestamptz', name: 'started_at' }) startedAt!: Date;
  @Column('timestamptz', { name: 'lease_until' }) leaseUntil!: Date;
  /** True while it is shutting down and takes over no more shards. */
  @Column('boolean', { name: 'is_leaving', default: false }) isLeaving!: boolean;
}
