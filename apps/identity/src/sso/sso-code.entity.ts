import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A completed login at an identity provider, to be exchanged for a session within two minutes. */
@Entity('sso_code')
export class SsoCode {
  @PrimaryColumn('bytea', { name: 'code_hash' })
  codeHash: Buffer;

  @Column('bytea', { name: 'browser_hash' })
  browserHash: Buffer;

  @Column('uuid', { name: 'provider_id' })
  providerId: string;

  @Column('integer', { name: 'config_version' })
  configVersion: number;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  @Column('integer', { name: 'auth_epoch' })
  authEpoch: number;

  /** The provider verified a second factor, and is trusted to. */
  @Column('boolean', { name: 'idp_mfa' })
  idpMfa: boolean;

  /** Session id at the provider. */
  @Column('text', { name: 'sso_sid', nullable: true })
  ssoSid: string | null;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}
