import { Column, Entity, PrimaryColumn } from 'typeorm';

export const DEV_PUSH_COMPONENTS = ['agent', 'desktop-helper', 'user-helper'] as const;
export type DevPushComponent = (typeof DEV_PUSH_COMPONENTS)[number];

/** A build that the agent of one device may download once. Its file has the same id. @see docs/reference/provisioning.md#dev-push */
@Entity('dev_push')
export class DevPush {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'device_id' })
  deviceId: string;

  /** SHA-256 of the token in the address of the download. */
  @Column('bytea', { name: 'token_hash' })
  tokenHash: Buffer;

  /** SHA-256 of the file, 64 hex digits. */
  @Column('text')
  checksum: string;

  @Column('bigint')
  bytes: string;

  @Column('text')
  version: string;

  @Column('text')
  component: DevPushComponent;

  @Column('timestamptz', { name: 'created_at' })
  createdAt: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column('timestamptz', { name: 'downloaded_at', nullable: true })
  downloadedAt: Date | null;
}
