import { Column, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

/** The picture of a user, in the database so that every replica has it. */
@Entity('avatar')
export class Avatar {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId: string;

  @Column('text')
  mime: string;

  @Column('bytea')
  bytes: Buffer;

  @Column('text')
  etag: string;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz' })
  updatedAt: Date;
}
