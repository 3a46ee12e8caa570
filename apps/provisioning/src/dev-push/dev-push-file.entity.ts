import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** The file of a push, which has the same id. It is stored before the push. */
@Entity('dev_push_file')
export class DevPushFile {
  @PrimaryColumn('uuid')
  id: string;

  /** The size up to which it may grow. */
  @Column('bigint', { name: 'reserved_bytes' })
  reservedBytes: string;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt: Date;
}
