import { Column, Entity, PrimaryColumn } from 'typeorm';

export type SsoPurpose = 'login' | 'link' | 'reauth';

/** A login at an identity provider that has begun: the provider is to answer with its state within ten minutes. */
@Entity('sso_flow')
export class SsoFlow {
  @PrimaryColumn('bytea', { name: 'state_hash' })
  stateHash: Buffer;

  /** Hash of the cookie of the browser that began it. */
  @Column('bytea', { name: 'browser_hash' })
  browserHash: Buffer;

  @Column('uuid', { name: 'provider_id' })
  providerId: string;

  @Column('integer', { name: 'config_version' })
  configVersion: number;

  @Column('text')
  purpose: SsoPurpose;

  /** The signed-in user of a link or a reauthentication. */
  @Column('uuid', { name: 'user_id', nullable: true })
  userId: string | null;

  @Column('uuid', { name: 'session_id', nullable: true })
  sessionId: string | null;

  /** Nonce and PKCE verifier. */
  @Column('text', { name: 'sealed_secrets' })
  secretsSealed: string;

  @Column('text', { name: 'return_to' })
  returnTo: string;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}
