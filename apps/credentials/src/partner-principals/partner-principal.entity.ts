import { Column, Entity, PrimaryColumn } from 'typeorm';

export const PRINCIPAL_STATUSES = ['active', 'disabled'] as const;
export type PrincipalStatus = (typeof PRINCIPAL_STATUSES)[number];

@Entity({ name: 'partner_principal' })
export class PartnerPrincipal {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text') status!: PrincipalStatus;
  @Column('text', { array: true }) scopes!: string[];
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('text', { name: 'source_cidrs', array: true }) sourceCidrs!: string[];
  @Column('uuid', { name: 'created_by', nullable: true }) createdBy!: string | null;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at' }) updatedAt!: Date;
}
