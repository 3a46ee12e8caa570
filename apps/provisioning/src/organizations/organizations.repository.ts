import { Injectable } from '@nestjs/common';
import type { OrganizationStatus } from '@rmm/contracts';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import { randomUUID } from 'node:crypto';
import type { QueryDeepPartialEntity } from 'typeorm';
import { nameKey } from './name-key.js';
import { Organization, type BillingContact, type OrganizationType } from './organization.entity.js';
import { FACT_COLUMNS, type OrganizationRow } from './organization-facts.js';

/** An organization as it is shown. */
export interface OrganizationView {
  id: string;
  partnerId: string;
  name: string;
  slug: string;
  type: OrganizationType;
  status: OrganizationStatus;
  settings: Record<string, unknown>;
  contractStart: Date | null;
  contractEnd: Date | null;
  billingContact: BillingContact | null;
  externalLinks: { system: string; externalId: string }[];
  /** Without decommissioned ones. */
  deviceCount: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface OrganizationFilter {
  search?: string;
  status?: string;
  partnerId?: string;
}

/** What a caller may set; absent fields are left alone. */
export interface OrganizationChange {
  name?: string;
  slug?: string;
  type?: OrganizationType;
  status?: OrganizationStatus;
  settings?: Record<string, unknown>;
  contractStart?: Date | null;
  contractEnd?: Date | null;
  billingContact?: BillingContact | null;
}

export type NewOrganizationRow = OrganizationChange & { partnerId: string; name: string; slug: string };

const VIEW = `
  o.id, o.partner_id as "partnerId", o.name, o.slug, o.type, o.status,
  coalesce(o.settings || (select jsonb_build_object('security', s.security)
                          from organization_security s where s.org_id = o.id), o.settings) as settings,
  o.contract_start as "contractStart", o.contract_end as "contractEnd", o.billing_contact as "billingContact",
  o.created_at as "createdAt", o.updated_at as "updatedAt",
  (select coalesce(jsonb_agg(jsonb_build_object('system', l.system, 'externalId', l.external_id)
                             order by l.system, l.external_id), '[]')
     from external_link l where l.org_id = o.id) as "externalLinks",
  (select count(*)::int from device d where d.org_id = o.id and d.status <> 'decommissioned') as "deviceCount"`;

const FILTER = `
  o.deleted_at is null
  and ($1::text is null or o.name ilike $1 or o.slug ilike $1)
  and ($2::text is null or o.status = $2)
  and ($3::uuid is null or o.partner_id = $3)`;

const like = (text: string | undefined) => (text === undefined ? null : `%${text.replace(/[\\%_]/g, '\\$&')}%`);
const filterParams = ({ search, status, partnerId }: OrganizationFilter) => [
  like(search),
  status ?? null,
  partnerId ?? null,
];

@Injectable()
export class OrganizationsRepository {
  /** One page, newest first. */
  list(sql: SqlExecutor, filter: OrganizationFilter, page: { limit: number; offset: number }) {
    return sql.query<OrganizationView>(
      `select ${VIEW} from organization o where ${FILTER} order by o.created_at desc, o.id desc limit $4 offset $5`,
      [...filterParams(filter), page.limit, page.offset],
    );
  }

  async count(sql: SqlExecutor, filter: OrganizationFilter): Promise<number> {
    const [row] = await sql.query<{ total: number }>(
      `select count(*)::int as total from organization o where ${FILTER}`,
      filterParams(filter),
    );
    return row.total;
  }

  /** Null where there is none that the caller sees. */
  async find(sql: SqlExecutor, id: string): Promise<OrganizationView | null> {
    const [row] = await sql.query<OrganizationView>(
      `select ${VIEW} from organization o where o.id = $1 and o.deleted_at is null`,
      [id],
    );
    return row ?? null;
  }

  /** The row for an update, locked to the end of the transaction. */
  lock(tx: TenantTransaction, id: string): Promise<Organization | null> {
    return tx
      .repository(Organization)
      .createQueryBuilder('organization')
      .setLock('pessimistic_write')
      .where('organization.id = :id and organization.deletedAt is null', { id })
      .getOne();
  }

  /** Is this slug another live organization's? As far as the caller sees; the index has the last word. */
  async hasSlug(sql: SqlExecutor, { id, partnerId }: { id: string; partnerId: string }, slug: string) {
    const rows = await sql.query(
      'select 1 as one from organization where partner_id = $1 and slug = $2 and id <> $3 and deleted_at is null',
      [partnerId, slug, id],
    );
    return rows.length > 0;
  }

  /** How many live organizations a partner has. */
  async countOf(tx: SqlExecutor, partnerId: string): Promise<number> {
    const [row] = await tx.query<{ total: number }>(
      'select count(*)::int as total from organization where partner_id = $1 and deleted_at is null',
      [partnerId],
    );
    return row.total;
  }

  async insert(tx: TenantTransaction, given: NewOrganizationRow): Promise<OrganizationRow> {
    const id = randomUUID();
    await tx
      .repository(Organization)
      .insert({ ...given, id, nameKey: nameKey(given.name) } as QueryDeepPartialEntity<Organization>);
    return this.factRow(tx, id);
  }

  /** Applies the change and raises the version. */
  async update(tx: TenantTransaction, id: string, change: OrganizationChange): Promise<OrganizationRow> {
    const set = { ...change, ...(change.name === undefined ? {} : { nameKey: nameKey(change.name) }) };
    await tx
      .repository(Organization)
      .update({ id }, { ...set, version: () => 'version + 1' } as QueryDeepPartialEntity<Organization>);
    return this.factRow(tx, id);
  }

  private async factRow(tx: SqlExecutor, id: string): Promise<OrganizationRow> {
    const [row] = await tx.query<OrganizationRow>(`select ${FACT_COLUMNS} from organization where id = $1`, [id]);
    return row;
  }
}
