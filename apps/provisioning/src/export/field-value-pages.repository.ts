import { Injectable } from '@nestjs/common';
import { tenantOf } from '@rmm/access';
import type { ExportedCustomFieldValue, ExportRequest } from '@rmm/contracts';
import { limitBytes, NIL_UUID, TenantDatabase } from '@rmm/persistence';
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

const NIL = `'${NIL_UUID}'::uuid`;
/** The position: a value is identified by its device and its definition. */
const [UPDATED_AT, DEVICE, DEFINITION] = [':afterUpdatedAt::timestamptz', ':afterId::uuid', ':afterDefinitionId::uuid'];

const COLUMNS = `v.device_id::text || ':' || v.definition_id AS id, v.org_id AS "orgId", v.site_id AS "siteId",
  v.stamp AS "updatedAt", NULL::timestamptz AS "sourceUpdatedAt", v.device_id AS "deviceId",
  v.definition_id AS "definitionId", v.name, v.field_key AS "fieldKey", v.type, v.value`;
const DEVICE_COLUMNS = 'd.id AS device_id, d.org_id, d.site_id';
const FIELD_COLUMNS = 'f.id AS definition_id, f.name, f.field_key, f.type';

/** SQL: the definition `f` of a field `k` of the device `d`: that of its organization before that of the partner. */
const DEFINITION_OF_FIELD = `LATERAL (
    SELECT c.* FROM custom_field_definition c
     WHERE c.partner_id = d.partner_id AND (c.org_id = d.org_id OR c.org_id IS NULL) AND c.field_key = k.key
     ORDER BY c.org_id NULLS LAST LIMIT 1) f`;
const APPLIES = `(f.device_types = '{}' OR d.os_type = ANY (f.device_types))`;
const scopeOf = (filter: ExportFilter) =>
  filter === 'partner'
    ? 'd.partner_id = :partnerId::uuid'
    : 'd.org_id = :orgId::uuid AND d.partner_id = :partnerId::uuid';

/**
 * Queries of exports of the values of custom fields, which are derived from the fields of devices and the definitions.
 * SQL: measured pages of large tables.
 */
@Injectable()
export class FieldValuePagesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns a page by (id, orgId), or since a time by (updatedAt, id, orgId). */
  async list(request: ExportRequest, snapshotAt: string): Promise<ExportRows<ExportedCustomFieldValue>> {
    const caller = tenantOf(request.caller);
    const text = request.updatedSince === null ? fullText(filterOf(request)) : incrementalText(filterOf(request));
    const sql = limitBytes(text, { columns: ['value'], maxBytes: EXPORT_PAGE_BYTES });
    const params = pageParams(sql, request, String(caller.tenant.partnerId), snapshotAt);
    return toPage(await this.tenants.read<ExportedCustomFieldValue & ExportRow>(caller, sql, params), request.limit);
  }
}

const fullText = (filter: ExportFilter): string => `
  SELECT ${COLUMNS} FROM (
    SELECT ${DEVICE_COLUMNS}, f.*, greatest(d.updated_at, f.changed_at) AS stamp
      FROM device d JOIN organization o ON o.id = d.org_id CROSS JOIN LATERAL (
        SELECT ${FIELD_COLUMNS}, f.updated_at AS changed_at, k.value
          FROM jsonb_each(d.custom_fields) k CROSS JOIN ${DEFINITION_OF_FIELD}
         WHERE ${APPLIES} AND f.created_at <= :snapshotAt::timestamptz
           AND f.id > CASE WHEN d.id = ${DEVICE} THEN ${DEFINITION} ELSE ${NIL} END
         ORDER BY f.id LIMIT :limit) f
     WHERE ${scopeOf(filter)} AND d.decommissioned_at IS NULL AND ${IS_VISIBLE}
       AND d.created_at <= :snapshotAt::timestamptz AND d.id >= ${DEVICE}
     ORDER BY d.id, f.definition_id LIMIT :limit) v
   ORDER BY v.device_id, v.definition_id`;

/** Values change with their device or with their definition, whichever changed last. */
const incrementalText = (filter: ExportFilter): string => `
  SELECT ${COLUMNS} FROM (
    (${valuesOfChangedDevices(filter)}) UNION ALL (${valuesOfChangedDefinitions(filter, 'own')})
    UNION ALL (${valuesOfChangedDefinitions(filter, 'shared')})) v
   ORDER BY v.stamp, v.device_id, v.definition_id LIMIT :limit`;

const valuesOfChangedDevices = (filter: ExportFilter): string => `
  SELECT ${DEVICE_COLUMNS}, f.*, d.updated_at AS stamp
    FROM device d JOIN organization o ON o.id = d.org_id CROSS JOIN LATERAL (
      SELECT ${FIELD_COLUMNS}, k.value FROM jsonb_each(d.custom_fields) k CROSS JOIN ${DEFINITION_OF_FIELD}
       WHERE ${APPLIES} AND f.updated_at <= d.updated_at
         AND f.id > CASE WHEN d.updated_at = ${UPDATED_AT} AND d.id = ${DEVICE} THEN ${DEFINITION} ELSE ${NIL} END
       ORDER BY f.id LIMIT :limit) f
   WHERE ${scopeOf(filter)} AND d.decommissioned_at IS NULL AND ${IS_VISIBLE}
     AND d.updated_at <= :snapshotAt::timestamptz AND (d.updated_at, d.id) >= (${UPDATED_AT}, ${DEVICE})
   ORDER BY d.updated_at, d.id, f.definition_id LIMIT :limit`;

function valuesOfChangedDefinitions(filter: ExportFilter, owner: 'own' | 'shared'): string {
  const isOwn = owner === 'own';
  const ofOrganization = filter === 'partner' ? '' : 'AND f.org_id = :orgId::uuid';
  const devices = isOwn ? 'd.org_id = f.org_id AND d.partner_id = f.partner_id' : scopeOf(filter);
  const notReplaced = `AND NOT EXISTS (
            SELECT FROM custom_field_definition c
             WHERE c.partner_id = d.partner_id AND c.org_id = d.org_id AND c.field_key = f.field_key)`;
  return `
  SELECT d.device_id, d.org_id, d.site_id, ${FIELD_COLUMNS}, d.value, f.updated_at AS stamp
    FROM custom_field_definition f CROSS JOIN LATERAL (
      SELECT ${DEVICE_COLUMNS}, d.custom_fields -> f.field_key AS value
        FROM device d JOIN organization o ON o.id = d.org_id
       WHERE ${devices} AND d.decommissioned_at IS NULL AND ${IS_VISIBLE} AND d.custom_fields ? f.field_key
         AND d.updated_at < f.updated_at AND ${APPLIES} ${isOwn ? '' : notReplaced}
         AND d.id >= CASE WHEN f.updated_at = ${UPDATED_AT} THEN ${DEVICE} ELSE ${NIL} END
         AND (f.updated_at, d.id, f.id) > (${UPDATED_AT}, ${DEVICE}, ${DEFINITION})
       ORDER BY d.id LIMIT :limit) d
   WHERE f.partner_id = :partnerId::uuid AND f.org_id IS ${isOwn ? `NOT NULL ${ofOrganization}` : 'NULL'}
     AND f.updated_at <= :snapshotAt::timestamptz AND f.updated_at >= ${UPDATED_AT}
   ORDER BY f.updated_at, d.device_id, f.id LIMIT :limit`;
}
