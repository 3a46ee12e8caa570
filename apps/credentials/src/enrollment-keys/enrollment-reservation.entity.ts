import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** One use of an enrollment key, reserved before its device exists. */
@Entity({ name: 'enrollment_reservation' })
export class EnrollmentReservation {
  @PrimaryColumn('uuid', { name: 'device_id' }) deviceId!: string;
  @Column('uuid', { name: 'enrollment_key_id' }) enrollmentKeyId!: string;
  /** The generation of the key the use was taken from. */
  @Column('integer') generation!: number;
  @Column('text') state!: 'reserved' | 'confirmed' | 'released';
  @CreateDateColumn({ type: 'timestamptz', name: 'reserved_at' }) reservedAt!: Date;
  @Column('timestamptz', { name: 'settled_at', nullable: true }) settledAt!: Date | null;
}
