import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A refresh token of a session; stored as a hash only. */
@Entity('refresh_token')
export class RefreshToken {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'family_id' })
  familyId: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  @Column('bytea', { name: 'token_hash', select: false })
  tokenHash: Buffer;

  @CreateDateColumn({ name: 'issued_at', type: 'timestamptz' })
  issuedAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  /** When the token was replaced by its successor; null while it is the newest. */
  @Column('timestamptz', { name: 'rotated_at', nullable: true })
  rotatedAt: Date | null;
}
