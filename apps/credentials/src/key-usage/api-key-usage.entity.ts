import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How often an API key was used on one day (UTC). */
@Entity({ name: 'api_key_usage' })
export class ApiKeyUsage {
  @PrimaryColumn('uuid', { name: 'key_id' }) keyId!: string;
  @Column('uuid', { name: 'partner_id' }) partnerId!: string;
  @Column('uuid', { name: 'org_id' }) orgId!: string;
  /** `2026-11-21`. */
  @PrimaryColumn('date') day!: string;
  @Column('bigint') count!: string;
}
