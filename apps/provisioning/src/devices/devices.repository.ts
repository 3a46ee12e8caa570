import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { LIVE } from '../organizations/reachable.js';
import type { DeviceStatus, OsType } from './device.entity.js';

/** A device as it is shown. */
export interface DeviceView {
  id: string;
  orgId: string;
  siteId: string | null;
  agentId: string;
  hostname: string;
  displayName: string | null;
  osType: OsType;
  deviceRole: string | null;
  osVersion: string | null;
  architecture: string | null;
  agentVersion: string | null;
  status: DeviceStatus;
  lastSeenAt: Date | null;
  enrolledAt: Date | null;
  tags: string[];
  groupIds: string[];
  customFields: Record<string, unknown>;
  hardware: Record<string, unknown> | null;
  metrics: Record<string, unknown> | null;
}

export interface DeviceFilter {
  orgId?: string;
  siteId?: string;
  status?: DeviceStatus;
  search?: string;
  includeDecommissioned: boolean;
  /** The sites a member is confined to; null for no restriction. A device without site is invisible to such a member. */
  siteIds: readonly string[] | null;
  /** True for a member confined to device groups: as long as there are none, nothing is in one. */
  confinedToGroups: boolean;
}

const VIEW = `
  d.id, d.org_id as "orgId", d.site_id as "siteId", d.agent_id as "agentId", d.hostname,
  d.display_name as "displayName", d.os_type as "osType", d.device_role as "deviceRole", d.os_version as "osVersion",
  d.architecture, d.agent_version as "agentVersion", d.status, d.last_seen_at as "lastSeenAt",
  d.enrolled_at as "enrolledAt", d.tags, '{}'::uuid[] as "groupIds", d.custom_fields as "customFields", d.hardware,
  d.metrics`;

/** A device goes with its organization: those of an inactive one are out of reach. */
const FROM = `device d join organization o on o.id = d.org_id and ${LIVE}`;

const FILTER = `
  ($1::uuid is null or d.org_id = $1)
  and ($2::uuid is null or d.site_id = $2)
  and ($3::text is null or d.status = $3)
  and ($4::text is null or d.hostname ilike $4 or d.display_name ilike $4)
  and ($5::boolean or d.status <> 'decommissioned')
  and ($6::uuid[] is null or d.site_id = any ($6))
  and not $7::boolean`;

const filterParams = (filter: DeviceFilter) => [
  filter.orgId ?? null,
  filter.siteId ?? null,
  filter.status ?? null,
  filter.search === undefined ? null : `%${filter.search.replace(/[\\%_]/g, '\\$&')}%`,
  filter.includeDecommissioned || filter.status === 'decommissioned',
  filter.siteIds,
  filter.confinedToGroups,
];

@Injectable()
export class DevicesRepository {
  /** One page, newest first. */
  list(sql: SqlExecutor, filter: DeviceFilter, page: { limit: number; offset: number }): Promise<DeviceView[]> {
    return sql.query<DeviceView>(
      `select ${VIEW} from ${FROM} where ${FILTER} order by d.created_at desc, d.id desc limit $8 offset $9`,
      [...filterParams(filter), page.limit, page.offset],
    );
  }

  async count(sql: SqlExecutor, filter: DeviceFilter): Promise<number> {
    const [row] = await sql.query<{ total: number }>(
      `select count(*)::int as total from ${FROM} where ${FILTER}`,
      filterParams(filter),
    );
    return row.total;
  }

  /** Null where there is none that the caller's organization axis reaches. */
  async find(sql: SqlExecutor, id: string): Promise<DeviceView | null> {
    const [row] = await sql.query<DeviceView>(`select ${VIEW} from ${FROM} where d.id = $1`, [id]);
    return row ?? null;
  }
}
