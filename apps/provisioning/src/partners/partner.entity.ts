import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { PartnerStatus } from '@rmm/contracts';

/** A copy of a partner of identity, stored from its integration events. */
@Entity('partner')
export class Partner {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('text')
  slug: string;

  @Column('text')
  status: PartnerStatus;

  /** Null means no cap. */
  @Column('integer', { name: 'max_organizations', nullable: true })
  maxOrganizations: number | null;

  /** Null means no cap. */
  @Column('integer', { name: 'max_devices', nullable: true })
  maxDevices: number | null;

  /** IANA name. */
  @Column('text')
  timezone: string;

  /** Version of the event it was stored from. */
  @Column('bigint')
  version: string;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;
}
