import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A share of the organizations, whose deliveries its owner alone sends. */
@Entity({ name: 'delivery_partition' })
export class DeliveryPartition {
  @PrimaryColumn('smallint') partition!: number;
  @Column('uuid', { nullable: true }) owner!: string | null;
  /** Changes with the owner, so that outcomes of a former owner are recognized. */
  @Column('integer', { default: 0 }) epoch!: number;
}
