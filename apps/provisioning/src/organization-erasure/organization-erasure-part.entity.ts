import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ErasedCounts, ServiceName } from '@rmm/contracts';

/** The part of one service in the erasure of an organization. */
@Entity('organization_erasure_part')
export class OrganizationErasurePart {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @PrimaryColumn('text')
  service: ServiceName;

  /** Erased records by their kind. */
  @Column('jsonb')
  erased: ErasedCounts;

  @Column('timestamptz', { name: 'finished_at', nullable: true })
  finishedAt: Date | null;
}
