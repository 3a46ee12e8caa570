import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

export type LinkPurpose = 'email_verification' | 'password_reset' | 'email_change';

/** The token of an e-mailed link. A user has one per purpose: a new one replaces the row. */
@Entity('link_token')
export class LinkToken {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId: string;

  @PrimaryColumn('text')
  purpose: LinkPurpose;

  @Column('bytea', { name: 'token_hash' })
  tokenHash: Buffer;

  /** The epoch of the account for which the link is valid. */
  @Column('integer', { nullable: true })
  epoch: number | null;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('timestamptz', { name: 'used_at', nullable: true })
  usedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
