import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A name that entries of an organization contain as a pseudonym. @see docs/reference/audit.md#names */
@Entity('audit_name')
export class AuditNameRow {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @PrimaryColumn('text')
  pseudonym: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('text')
  name: string;
}
