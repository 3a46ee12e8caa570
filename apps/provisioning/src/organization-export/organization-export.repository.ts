import { Injectable } from '@nestjs/common';
import { EXPORT_READ_LIMIT, type Caller } from '@rmm/access';
import { limitBytes, takeBudgetColumns, tenantCondition, TenantDatabase } from '@rmm/persistence';

/** An organization whose data is exported. */
export interface ExportedOrganizationKey {
  orgId: string;
  partnerId: string;
}

interface Source {
  select: string;
  from: string;
  /** The column that the pages are ordered by; `id` in a record. */
  key: string;
  /** Columns of many bytes: the rows of a page are then limited to about 1 MB. */
  large?: readonly string[];
}

const SCRIPT_COLUMNS = `x.name, x.description, x.category, x.os_types AS "osTypes", x.language, x.content, x.parameters,
  x.run_as AS "runAs", x.timeout_seconds AS "timeoutSeconds", x.exit_code_severity_mapping AS "exitCodeSeverityMapping",
  x.tags, x.version`;
const REPORT_TIMES = `x.created_at AS "createdAt", x.updated_at AS "updatedAt"`;
const reportOf = (table: string, columns: string): Source => ({
  select: `x.device_id AS id, ${columns}, ${REPORT_TIMES}`,
  from: `${table} x`,
  key: 'x.device_id',
});

/** The stored records of an organization, in the order of the export. Columns are named: tokens are not exported. */
const SOURCES = {
  organization: {
    select: `x.id, x.name, x.slug, x.type, x.status, x.settings, x.contract_start AS "contractStart",
      x.contract_end AS "contractEnd", x.billing_contact AS "billingContact", x.deleted_at AS "deletedAt",
      (SELECT coalesce(jsonb_agg(jsonb_build_object('system', l.system, 'externalId', l.external_id)), '[]')
         FROM external_link l WHERE l.org_id = x.id) AS "externalLinks", ${REPORT_TIMES}`,
    from: 'organization x',
    key: 'x.id',
  },
  site: {
    select: `x.id, x.name, x.timezone, x.address, x.contact, x.settings, x.deleted_at AS "deletedAt", ${REPORT_TIMES}`,
    from: 'site x',
    key: 'x.id',
  },
  contact: {
    select: `x.id, x.site_id AS "siteId", x.name, x.email, x.phone, x.mobile, x.title, x.roles, x.is_primary AS "isPrimary",
      x.notes,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('system', l.system, 'externalId', l.external_id)), '[]')
         FROM contact_link l WHERE l.contact_id = x.id) AS "externalLinks", ${REPORT_TIMES}`,
    from: 'contact x',
    key: 'x.id',
  },
  device_group: {
    select: `x.id, x.site_id AS "siteId", x.name, x.description, x.deleted_at AS "deletedAt", ${REPORT_TIMES}`,
    from: 'device_group x',
    key: 'x.id',
  },
  custom_field_definition: {
    select: `x.id, x.field_key AS "fieldKey", x.name, x.type, x.options, x.required, x.default_value AS "defaultValue",
      x.device_types AS "deviceTypes", ${REPORT_TIMES}`,
    from: 'custom_field_definition x',
    key: 'x.id',
  },
  device: {
    select: `x.id, x.site_id AS "siteId", x.agent_id AS "agentId", x.hostname, x.display_name AS "displayName",
      x.os_type AS "osType", x.os_version AS "osVersion", x.architecture, x.device_role AS "deviceRole",
      x.is_virtual AS "isVirtual", x.tags, x.custom_fields AS "customFields", s.status,
      s.agent_version AS "agentVersion", s.last_seen_at AS "lastSeenAt", s.metrics, x.enrolled_at AS "enrolledAt",
      x.decommissioned_at AS "decommissionedAt",
      ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = x.id ORDER BY 1) AS "groupIds",
      ${REPORT_TIMES}`,
    from: 'device x JOIN device_state s ON s.device_id = x.id',
    key: 'x.id',
  },
  device_hardware: reportOf('device_hardware', 'x.hardware'),
  device_disks: reportOf('device_disk', 'x.disks'),
  device_network: reportOf('device_network', 'x.adapters'),
  device_software: reportOf('device_software', 'x.software, x.total'),
  device_posture: reportOf(
    'device_posture',
    `x.collected_at AS "collectedAt", x.identity, x.errors,
      (SELECT coalesce(jsonb_agg(jsonb_build_object('category', p.category, 'name', p.name, 'version', p.version,
                'status', p.status, 'serviceName', p.service_name, 'details', p.details)), '[]')
         FROM device_posture_product p WHERE p.device_id = x.device_id) AS products`,
  ),
  agent_command: {
    select: `x.id, x.device_id AS "deviceId", x.type, x.created_at AS "createdAt", x.delivered_at AS "deliveredAt",
      x.expires_at AS "expiresAt"`,
    from: 'agent_command x',
    key: 'x.id',
  },
  dev_push: {
    select: `x.id, x.device_id AS "deviceId", x.checksum, x.bytes, x.version, x.component, x.created_at AS "createdAt",
      x.expires_at AS "expiresAt", x.downloaded_at AS "downloadedAt"`,
    from: 'dev_push x',
    key: 'x.id',
  },
  script: {
    select: `x.id, ${SCRIPT_COLUMNS}, ${REPORT_TIMES}`,
    from: 'script x',
    key: 'x.id',
    large: ['content'],
  },
  /** Records as other services published them; those that are derived from other rows are not repeated. */
  export_record: {
    select: `x.record_key AS id, x.resource, x.id AS "recordId", x.site_id AS "siteId", x.device_id AS "deviceId", x.record,
      x.source_updated_at AS "sourceUpdatedAt", ${REPORT_TIMES}`,
    from: '(SELECT * FROM export_record WHERE record IS NOT NULL) x',
    key: 'x.record_key',
    large: ['record'],
  },
  script_version: {
    select: `x.id, x.script_id AS "scriptId", ${SCRIPT_COLUMNS}, x.created_at AS "createdAt", x.replaced_at AS "replacedAt"`,
    from: 'script_version x',
    key: 'x.id',
    large: ['content'],
  },
} as const satisfies Record<string, Source>;

export type ProvisioningExport = keyof typeof SOURCES;
export const PROVISIONING_EXPORTS = Object.keys(SOURCES) as ProvisioningExport[];

/** Reads the records of an organization, also of a deleted one, in pages that are read by an index. */
@Injectable()
export class OrganizationExportRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns one page: up to 201 records, fewer when they are large. */
  async list(
    caller: Caller,
    resource: ProvisioningExport,
    { orgId, partnerId }: ExportedOrganizationKey,
    after: string | null,
  ): Promise<{ id: string }[]> {
    const { select, from, key, large }: Source = SOURCES[resource];
    const tenant = tenantCondition(caller, 'organization', 'x');
    const isOwnRow = resource === 'organization';
    const condition = isOwnRow ? tenant.sql.replaceAll('x.org_id', 'x.id') : tenant.sql;
    const sql = `SELECT ${select} FROM ${from}
        WHERE ${condition} AND ${isOwnRow ? 'x.id' : 'x.org_id'} = :orgId AND x.partner_id = :partnerId
          AND (:after::uuid IS NULL OR ${key} > :after::uuid)
        ORDER BY ${key} LIMIT :limit`;
    const params = { ...tenant.params, orgId, partnerId, after, limit: EXPORT_READ_LIMIT };
    const rows = await this.tenants.read<{ id: string }>(
      caller,
      large ? limitBytes(sql, { columns: large }) : sql,
      params,
    );
    // A page that was cut is larger than a page of the export, which therefore knows that more follow.
    if (large) takeBudgetColumns(rows);
    return rows;
  }
}
