import { Injectable } from '@nestjs/common';
import { tenantOf } from '@rmm/access';
import { EXPORTED_SCRIPT_CHARACTERS, type ExportRequest } from '@rmm/contracts';
import { limitBytes, TenantDatabase } from '@rmm/persistence';
import {
  EXPORT_PAGE_BYTES,
  type ExportFilter,
  type ExportRow,
  type ExportRows,
  filterOf,
  pageParams,
  toPage,
} from './export-page.js';
import { IS_VISIBLE } from './export.repository.js';

/** A resource of `export_record`, which has the alias `r`, and the tables its fields are derived from. Constant SQL. */
export interface RecordResource {
  name: string;
  /** Columns in addition to those of `RecordRow`; null when the record was published. */
  columns: string;
  /** Columns of variable size, in addition to `record`. */
  large: readonly string[];
  joins: string;
  /** Records of devices and sites, which always belong to an organization. */
  isOfDevice: boolean;
}

export interface RecordColumns {
  /** Fields as they were published; null when they are derived. */
  record: object | null;
  deviceId: string | null;
  isPartnerWide: boolean;
}

const resource = (name: string, derived: Partial<RecordResource> = {}): RecordResource => ({
  ...{ name, columns: '', large: [], joins: '', isOfDevice: false },
  ...derived,
});
const report = (table: string, alias: string) =>
  `LEFT JOIN ${table} ${alias} ON ${alias}.device_id = r.device_id AND r.record IS NULL`;

export const DEVICE_INVENTORY = resource('device-inventory', {
  columns: 'h.hardware, k.disks, n.adapters',
  large: ['hardware', 'disks', 'adapters'],
  joins: `${report('device_hardware', 'h')} ${report('device_disk', 'k')} ${report('device_network', 'n')}`,
  isOfDevice: true,
});
export const DEVICE_SOFTWARE = resource('device-software', {
  columns: 's.software, s.total',
  large: ['software'],
  joins: report('device_software', 's'),
  isOfDevice: true,
});
export const DEVICE_RELATIONSHIPS = resource('device-relationships', {
  columns: 'n.adapters',
  large: ['adapters'],
  joins: report('device_network', 'n'),
  isOfDevice: true,
});
export const CONFIGURATION_POLICIES = resource('configuration-policies');
export const CONFIGURATION_ASSIGNMENTS = resource('configuration-assignments');
export const AUTOMATIONS = resource('automations');
export const BACKUP_CONFIGURATIONS = resource('backup-configurations');
/** A content with one character more than the longest one was cut. */
export const SCRIPTS = resource('scripts', {
  columns: `s.name, s.description, s.category, s.os_types AS "osTypes", s.language,
    left(s.content, ${EXPORTED_SCRIPT_CHARACTERS + 1}) AS content, s.parameters, s.timeout_seconds AS "timeoutSeconds",
    s.run_as AS "runAs", s.version, s.exit_code_severity_mapping AS "exitCodeSeverityMapping"`,
  large: ['description', 'content', 'parameters', 'exitCodeSeverityMapping'],
  joins: 'JOIN script s ON s.id = r.id AND s.partner_id = r.partner_id',
});
export const CUSTOM_FIELDS = resource('custom-fields', {
  columns: `f.name, f.field_key AS "fieldKey", f.type, f.options, f.required, f.default_value AS "defaultValue",
    f.device_types AS "deviceTypes"`,
  large: ['options', 'defaultValue'],
  joins: `LEFT JOIN custom_field_definition f ON f.id = r.id AND f.partner_id = r.partner_id AND r.record IS NULL`,
});

/** SQL: none of a decommissioned device `d`, and of two sources of one device the newer one. */
const IS_CURRENT_OF_DEVICE = `(r.device_id IS NULL OR (d.id IS NOT NULL AND d.decommissioned_at IS NULL))
       AND NOT EXISTS (SELECT FROM export_record n
                        WHERE n.device_id = r.device_id AND n.resource = r.resource AND n.deleted_at IS NULL
                          AND (n.source_updated_at, n.id) > (r.source_updated_at, r.id))`;
const NIL = `'00000000-0000-0000-0000-000000000000'::uuid`;
const [UPDATED_AT, ID, ORG_ID] = [':afterUpdatedAt::timestamptz', ':afterId::uuid', ':afterOrgId::uuid'];

/** Queries of exports of `export_record`, run as the partner that partner-gateway acts for. SQL: measured pages. */
@Injectable()
export class RecordPagesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns a page by (id, orgId), or since a time by (updatedAt, id, orgId). Records of the partner repeat for each organization. */
  async list<Row>(
    of: RecordResource,
    request: ExportRequest,
    snapshotAt: string,
  ): Promise<ExportRows<Row & RecordColumns>> {
    const caller = tenantOf(request.caller);
    const sql = limitBytes(textOf(of, filterOf(request), request.updatedSince === null), {
      columns: ['record', ...of.large],
      maxBytes: EXPORT_PAGE_BYTES,
    });
    const params = pageParams(sql, request, String(caller.tenant.partnerId), snapshotAt);
    return toPage(await this.tenants.read<Row & RecordColumns & ExportRow>(caller, sql, params), request.limit);
  }
}

/** Selects the keys of the page by indexes alone; only then reads the records. */
function textOf(of: RecordResource, filter: ExportFilter, isFull: boolean): string {
  const keys = isFull
    ? [ownKeys(of, filter, true), ...(of.isOfDevice ? [] : [sharedKeys(of, filter)])]
    : [
        ownKeys(of, filter, false),
        ...(of.isOfDevice ? [] : [changedSharedKeys(of, filter), sharedKeysOfVisible(of, filter)]),
      ];
  const order = isFull ? 'p.id, p.org_id' : 'p.stamp, p.id, p.org_id';
  return `
  SELECT p.id, p.org_id AS "orgId", r.site_id AS "siteId", p.stamp AS "updatedAt", r.source_updated_at AS "sourceUpdatedAt",
         r.org_id IS NULL AS "isPartnerWide", r.device_id AS "deviceId", r.record${of.columns && ', '}${of.columns}
    FROM (SELECT p.* FROM (${keys.map((sql) => `(${sql})`).join(' UNION ALL ')}) p ORDER BY ${order} LIMIT :limit) p
    JOIN export_record r ON r.record_key = p.record_key ${of.joins}
   ORDER BY ${order}`;
}

/** Records of organizations. */
function ownKeys({ name, isOfDevice }: RecordResource, filter: ExportFilter, isFull: boolean): string {
  const scopes = {
    partner: 'r.partner_id = :partnerId::uuid',
    organization: 'r.org_id = :orgId::uuid AND r.partner_id = :partnerId::uuid',
    site: `r.site_id = :siteId::uuid AND r.partner_id = :partnerId::uuid AND (:orgId::uuid IS NULL OR r.org_id = :orgId::uuid)`,
  };
  const [page, order] = isFull
    ? [`r.created_at <= :snapshotAt::timestamptz AND r.id > ${ID}`, 'r.id']
    : [
        `r.updated_at <= :snapshotAt::timestamptz AND (r.updated_at, r.id) > (${UPDATED_AT}, ${ID})`,
        'r.updated_at, r.id',
      ];
  return `SELECT r.record_key, r.id, r.org_id, r.updated_at AS stamp
      FROM export_record r JOIN organization o ON o.id = r.org_id
           ${isOfDevice ? 'LEFT JOIN device d ON d.id = r.device_id' : ''}
     WHERE ${scopes[filter]} AND r.resource = '${name}' AND r.deleted_at IS NULL AND ${IS_VISIBLE}
       ${isOfDevice ? `AND ${IS_CURRENT_OF_DEVICE}` : ''} AND ${page}
     ORDER BY ${order} LIMIT :limit`;
}

const sharedOf = ({ name }: RecordResource) =>
  `r.partner_id = :partnerId::uuid AND r.resource = '${name}' AND r.org_id IS NULL AND r.deleted_at IS NULL`;
const organizationsOf = (filter: ExportFilter) =>
  `o.partner_id = :partnerId::uuid AND ${IS_VISIBLE} ${filter === 'organization' ? 'AND o.id = :orgId::uuid' : ''}`;

/**
 * Records of the partner with each organization. Reads as many records as fill the page with all organizations: the planner
 * may read every record before the first limit.
 */
function sharedKeys(of: RecordResource, filter: ExportFilter): string {
  const organizations = `${organizationsOf(filter)} AND o.created_at <= :snapshotAt::timestamptz`;
  return `SELECT r.record_key, r.id, o.id AS org_id, r.updated_at AS stamp
      FROM (
        SELECT r.record_key, r.id, r.updated_at FROM export_record r
         WHERE ${sharedOf(of)} AND r.created_at <= :snapshotAt::timestamptz AND r.id >= ${ID}
         ORDER BY r.id
         LIMIT (SELECT :limit / greatest(count(*), 1) + 2
                  FROM (SELECT FROM organization o WHERE ${organizations} LIMIT :limit) counted)) r
      CROSS JOIN LATERAL (
        SELECT o.id FROM organization o
         WHERE ${organizations} AND o.id > CASE WHEN r.id = ${ID} THEN ${ORG_ID} ELSE ${NIL} END
         ORDER BY o.id LIMIT :limit) o
     ORDER BY r.id, o.id LIMIT :limit`;
}

/** Records of the partner that changed since their organizations are visible. */
function changedSharedKeys(of: RecordResource, filter: ExportFilter): string {
  return `SELECT r.record_key, r.id, o.id AS org_id, r.updated_at AS stamp
      FROM export_record r CROSS JOIN LATERAL (
        SELECT o.id FROM organization o
         WHERE ${organizationsOf(filter)} AND o.visible_at <= r.updated_at
           AND o.id > CASE WHEN r.updated_at = ${UPDATED_AT} AND r.id = ${ID} THEN ${ORG_ID} ELSE ${NIL} END
         ORDER BY o.id LIMIT :limit) o
     WHERE ${sharedOf(of)} AND r.updated_at <= :snapshotAt::timestamptz AND (r.updated_at, r.id) >= (${UPDATED_AT}, ${ID})
     ORDER BY r.updated_at, r.id, o.id LIMIT :limit`;
}

/**
 * Records of the partner of organizations that are visible since their last change, in the order of the indexes: by the time
 * from which organizations are visible, by record, by organization. Reads as many times as fill the page, since each has the
 * records that are older than the position (those that changed later fill it by `changedSharedKeys`), and for each time as
 * many records as fill it with the organizations of that time: the planner may read everything before the last limit.
 */
function sharedKeysOfVisible(of: RecordResource, filter: ExportFilter): string {
  const organizations = organizationsOf(filter);
  return `SELECT r.record_key, r.id, o.id AS org_id, v.visible_at AS stamp
      FROM (
        SELECT DISTINCT o.visible_at FROM organization o
         WHERE ${organizations} AND o.visible_at <= :snapshotAt::timestamptz AND o.visible_at >= ${UPDATED_AT}
         ORDER BY o.visible_at
         LIMIT (SELECT :limit / greatest(count(*), 1) + 2
                  FROM (SELECT FROM export_record r WHERE ${sharedOf(of)} AND r.updated_at < ${UPDATED_AT} LIMIT :limit) older)) v
      CROSS JOIN LATERAL (
        SELECT r.record_key, r.id FROM export_record r
         WHERE ${sharedOf(of)} AND r.updated_at < v.visible_at
           AND r.id >= CASE WHEN v.visible_at = ${UPDATED_AT} THEN ${ID} ELSE ${NIL} END
         ORDER BY r.id
         LIMIT (SELECT :limit / greatest(count(*), 1) + 2
                  FROM (SELECT FROM organization o WHERE ${organizations} AND o.visible_at = v.visible_at LIMIT :limit) counted)) r
      CROSS JOIN LATERAL (
        SELECT o.id FROM organization o
         WHERE ${organizations} AND o.visible_at = v.visible_at
           AND o.id > CASE WHEN v.visible_at = ${UPDATED_AT} AND r.id = ${ID} THEN ${ORG_ID} ELSE ${NIL} END
         ORDER BY o.id LIMIT :limit) o
     ORDER BY v.visible_at, r.id, o.id LIMIT :limit`;
}
