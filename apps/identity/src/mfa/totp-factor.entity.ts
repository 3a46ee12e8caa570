import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** The authenticator app of a user. */
@Entity('totp_factor')
export class TotpFactor {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId: string;

  /** The base32 secret, sealed for `totpSealContext(userId)`. */
  @Column('text', { name: 'secret_sealed' })
  secretSealed: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
