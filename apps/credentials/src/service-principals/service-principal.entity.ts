import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

export const SERVICE_PRINCIPAL_STATUSES = ['active', 'disabled'] as const;
export type ServicePrincipalStatus = (typeof SERVICE_PRINCIPAL_STATUSES)[number];

@Entity({ name: 'service_principal' })
export class ServicePrincipal {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('uuid', { name: 'org_id' }) orgId!: string;
  @Column('text') name!: string;
  @Column('text', { array: true }) scopes!: string[];
  @Column('text') status!: ServicePrincipalStatus;
  @Column('uuid', { name: 'created_by', nullable: true }) createdBy!: string | null;
  @Column('uuid', { name: 'last_updated_by', nullable: true }) lastUpdatedBy!: string | null;
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt!: Date;
  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at' }) updatedAt!: Date;
}
