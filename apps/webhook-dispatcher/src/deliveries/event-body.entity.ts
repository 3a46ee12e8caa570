import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The text that is signed and sent, stored once for all deliveries of an event. A partition for each day. */
@Entity({ name: 'event_body' })
export class EventBody {
  @PrimaryColumn('text', { name: 'event_id' }) eventId!: string;
  @PrimaryColumn('uuid', { name: 'org_id' }) orgId!: string;
  @PrimaryColumn('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('text') body!: string;
}
