import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The one-time token with which the agent of a new device fetches its identity. Deleted once it is used. */
@Entity('device_provision')
export class DeviceProvision {
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  /** SHA-256 of the token. */
  @Column('bytea', { name: 'token_hash', select: false })
  tokenHash: Buffer;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;
}
