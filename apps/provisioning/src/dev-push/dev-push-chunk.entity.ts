import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A part of the file of a push. */
@Entity('dev_push_chunk')
export class DevPushChunk {
  @PrimaryColumn('uuid', { name: 'file_id' })
  fileId: string;

  /** Counted from 0. */
  @PrimaryColumn('integer')
  part: number;

  @Column('bytea')
  bytes: Buffer;
}
