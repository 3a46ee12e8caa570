import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { CompanyRow } from '../company-row.mapper.js';

/** `company` is a company without an organization, `rename` one with another name than its organization. */
export const PROPOSAL_KINDS = ['company', 'rename'] as const;
export type ProposalKind = (typeof PROPOSAL_KINDS)[number];

export const PROPOSAL_STATUSES = ['open', 'dismissed'] as const;
export type ProposalStatus = (typeof PROPOSAL_STATUSES)[number];

/** A finding of a sync that needs a decision. */
@Entity('psa_proposal')
export class PsaProposal {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'connection_id' })
  connectionId: string;

  @Column('text')
  kind: ProposalKind;

  @Column('text')
  status: ProposalStatus;

  @Column('text', { name: 'external_id' })
  externalId: string;

  /** The name of the company in the PSA. */
  @Column('text')
  name: string;

  @Column('text', { name: 'name_key' })
  nameKey: string;

  /** The row of an open company; a dismissed one keeps its id and name only. */
  @Column('jsonb', { nullable: true })
  company: CompanyRow | null;

  /** The organization of a rename. */
  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  /** The last run that saw it. */
  @Column('uuid', { name: 'seen_by' })
  seenBy: string;

  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;
}
