import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A running process of the dispatcher. */
@Entity({ name: 'dispatcher_replica' })
export class DispatcherReplica {
  @PrimaryColumn('uuid') id!: string;
  /** The key of the advisory lock that its session keeps while the process runs. */
  @Column('integer', { name: 'session_key', generated: 'identity' }) sessionKey!: number;
  @CreateDateColumn({ type: 'timestamptz', name: 'started_at' }) startedAt!: Date;
  @Column('timestamptz', { name: 'heartbeat_at', default: () => 'now()' }) heartbeatAt!: Date;
  /** True while it hands its partitions over before it ends. */
  @Column('boolean', { name: 'is_leaving', default: false }) isLeaving!: boolean;
}
