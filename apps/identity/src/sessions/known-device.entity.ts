import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A device that a user has signed in from; only a hash that differs for each user is stored. */
@Entity('known_device')
export class KnownDevice {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId: string;

  @PrimaryColumn('bytea')
  fingerprint: Buffer;

  @CreateDateColumn({ name: 'first_seen_at', type: 'timestamptz' })
  firstSeenAt: Date;

  @Column('timestamptz', { name: 'last_seen_at', default: () => 'now()' })
  lastSeenAt: Date;
}
