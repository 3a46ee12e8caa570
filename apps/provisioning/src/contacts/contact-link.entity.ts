import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** Identifies a contact in another system; unique per organization, system and id. */
@Entity('contact_link')
export class ContactLink {
  @PrimaryColumn('uuid', { name: 'org_id' })
  orgId: string;

  @PrimaryColumn('text')
  system: string;

  @PrimaryColumn('text', { name: 'external_id' })
  externalId: string;

  @Column('uuid', { name: 'contact_id' })
  contactId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt: Date;
}
