import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One of the 64 shards of origins; only its owner sends to their receivers. */
@Entity({ name: 'delivery_shard' })
export class DeliveryShard {
  @PrimaryColumn('smallint') shard!: number;
  /** The id of a `dispatcher_instance`. */
  @Column('uuid', { nullable: true }) owner!: string | null;
  /** A replica that stopped with attempts in flight leaves them time to be cut. */
  @Column('timestamptz', { name: 'free_at' }) freeAt!: Date;
}
