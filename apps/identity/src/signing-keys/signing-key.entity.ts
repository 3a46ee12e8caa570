import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { PublicJwkDto } from './dto/jwks.dto.js';

/** A key that signs access tokens. @see docs/reference/authentication.md */
@Entity('signing_key')
export class SigningKey {
  @PrimaryColumn('text')
  kid: string;

  /** Sealed for `signingKeySealContext(kid)`; empty for a key of JWT_SIGNING_KEYRING, which the operator keeps. */
  @Column('text', { name: 'private_jwk_sealed' })
  privateJwkSealed: string;

  @Column('jsonb', { name: 'public_jwk' })
  publicJwk: PublicJwkDto;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** When the key stops signing; null for the newest key. */
  @Column('timestamptz', { name: 'retired_at', nullable: true })
  retiredAt: Date | null;

  /** When the key was withdrawn: it is not published any more, and its private part is deleted. */
  @Column('timestamptz', { name: 'withdrawn_at', nullable: true })
  withdrawnAt: Date | null;
}
