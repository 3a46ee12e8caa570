import { Injectable } from '@nestjs/common';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import { randomUUID } from 'node:crypto';
import type { QueryDeepPartialEntity } from 'typeorm';
import { nameKey } from '../organizations/name-key.js';
import { LIVE } from '../organizations/reachable.js';
import { SITE_FACT_COLUMNS, type SiteFactRow } from './site-facts.js';
import type { SiteAddress, SiteContact } from './site-details.js';
import { Site } from './site.entity.js';

/** A site as it is shown. */
export interface SiteView {
  id: string;
  orgId: string;
  name: string;
  timezone: string;
  address: SiteAddress | null;
  contact: SiteContact | null;
  settings: Record<string, unknown>;
  /** Without decommissioned ones. */
  deviceCount: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface SiteFilter {
  orgId?: string;
  search?: string;
  /** The sites a member is confined to; null for no restriction. */
  siteIds: readonly string[] | null;
}

export interface NewSiteRow {
  partnerId: string;
  orgId: string;
  name: string;
  timezone: string;
  address: SiteAddress | null;
  contact: SiteContact | null;
  settings: Record<string, unknown>;
}

const VIEW = `
  s.id, s.org_id as "orgId", s.name, s.timezone, s.address, s.contact, s.settings,
  s.created_at as "createdAt", s.updated_at as "updatedAt",
  (select count(*)::int from device d where d.site_id = s.id and d.status <> 'decommissioned') as "deviceCount"`;

/** A site goes with its organization: those of an inactive one are out of reach. */
const FROM = `site s join organization o on o.id = s.org_id and ${LIVE}`;

const FILTER = `
  s.deleted_at is null
  and ($1::uuid is null or s.org_id = $1)
  and ($2::text is null or s.name ilike $2)
  and ($3::uuid[] is null or s.id = any ($3))`;

const filterParams = ({ orgId, search, siteIds }: SiteFilter) => [
  orgId ?? null,
  search === undefined ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`,
  siteIds,
];

@Injectable()
export class SitesRepository {
  /** One page, newest first. */
  list(sql: SqlExecutor, filter: SiteFilter, page: { limit: number; offset: number }): Promise<SiteView[]> {
    return sql.query<SiteView>(
      `select ${VIEW} from ${FROM} where ${FILTER} order by s.created_at desc, s.id desc limit $4 offset $5`,
      [...filterParams(filter), page.limit, page.offset],
    );
  }

  async count(sql: SqlExecutor, filter: SiteFilter): Promise<number> {
    const [row] = await sql.query<{ total: number }>(
      `select count(*)::int as total from ${FROM} where ${FILTER}`,
      filterParams(filter),
    );
    return row.total;
  }

  /** Null where there is none that the caller's organization axis reaches. */
  async find(sql: SqlExecutor, id: string): Promise<SiteView | null> {
    const [row] = await sql.query<SiteView>(`select ${VIEW} from ${FROM} where s.id = $1 and s.deleted_at is null`, [
      id,
    ]);
    return row ?? null;
  }

  async insert(tx: TenantTransaction, given: NewSiteRow): Promise<SiteFactRow> {
    const id = randomUUID();
    await tx.repository(Site).insert({ ...given, id, nameKey: nameKey(given.name) } as QueryDeepPartialEntity<Site>);
    const [row] = await tx.query<SiteFactRow>(`select ${SITE_FACT_COLUMNS} from site where id = $1`, [id]);
    return row;
  }
}
