import { CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** An unused recovery code of a user; stored as a hash only. */
@Entity('recovery_code')
export class RecoveryCode {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId: string;

  @PrimaryColumn('bytea', { name: 'code_hash' })
  codeHash: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
