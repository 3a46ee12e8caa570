import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The salt of the pseudonyms of an organization. Without it they cannot be computed from names. */
@Entity('audit_name_salt')
export class AuditNameSalt {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  /** 32 bytes. */
  @Column('bytea')
  salt: Buffer;
}
