import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { PsaProvider } from './psa-providers.constants.js';

/** `error` after a request that the PSA refused for its credentials. */
export const PSA_CONNECTION_STATUSES = ['active', 'paused', 'error'] as const;
export type PsaConnectionStatus = (typeof PSA_CONNECTION_STATUSES)[number];

/** Access to a PSA, owned by one organization, or by the partner when `orgId` is null. */
@Entity('psa_connection')
export class PsaConnection {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('text')
  provider: PsaProvider;

  @Column('text')
  name: string;

  /** Sorted by instead of the name. */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  @Column('text')
  status: PsaConnectionStatus;

  @Column('jsonb')
  settings: Record<string, unknown>;

  /** The credentials that may be shown. */
  @Column('jsonb')
  credentials: Record<string, string>;

  /** The secret credentials as one JSON object, sealed with the key ring; null when there are none. */
  @Column('text', { name: 'secrets_sealed', nullable: true })
  secretsSealed: string | null;

  /** The names of the sealed ones. */
  @Column('text', { name: 'secret_names', array: true })
  secretNames: string[];

  @Column('uuid', { name: 'created_by', nullable: true })
  createdBy: string | null;

  @Column('timestamptz', { name: 'last_tested_at', nullable: true })
  lastTestedAt: Date | null;

  @Column('timestamptz', { name: 'last_synced_at', nullable: true })
  lastSyncedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false })
  updatedAt: Date;
}
