import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A part of an uploaded file. */
@Entity('import_file_chunk')
export class ImportFileChunk {
  @PrimaryColumn('uuid', { name: 'run_id' })
  runId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  /** Counted from 0. */
  @PrimaryColumn('integer')
  part: number;

  @Column('bytea')
  bytes: Buffer;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt: Date;
}
