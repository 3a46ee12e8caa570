import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

export const PARTNER_PRINCIPAL_STATUSES = ['active', 'disabled'] as const;
export type PartnerPrincipalStatus = (typeof PARTNER_PRINCIPAL_STATUSES)[number];

@Entity({ name: 'partner_principal' })
export class PartnerPrincipal {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('text') status!: PartnerPrincipalStatus;
  @Column('text', { array: true }) scopes!: string[];
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
  @Column('text', { name: 'source_cidrs', array: true }) sourceCidrs!: string[];
  @Column('uuid', { name: 'created_by', nullable: true }) createdBy!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at' }) updatedAt!: Date;
}
