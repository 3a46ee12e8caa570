import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { tenantCondition, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';
import type { CustomFieldValue } from '../custom-fields/dto/custom-field-patch.dto.js';
import type { DuplicateDeviceDto, DuplicateKey } from './dto/device-duplicates.dto.js';

export interface DuplicateSearch {
  orgId: string;
  by: DuplicateKey;
  /** The sites and groups a member is restricted to; null for no restriction. */
  siteIds: readonly string[] | null;
  groupIds: readonly string[] | null;
  maxSets: number;
  maxDevices: number;
}

export interface DuplicateSet {
  key: string;
  deviceCount: number;
  devices: DuplicateDeviceDto[];
}

/** A device of a merge, locked until the transaction ends. */
export interface MergedDevice {
  id: string;
  orgId: string;
  partnerId: string;
  siteId: string | null;
  hostname: string;
  displayName: string | null;
  tags: string[];
  groupIds: string[];
  customFields: Record<string, CustomFieldValue>;
  /** A bigint as text. */
  version: string;
  isDecommissioned: boolean;
}

/** The indexed column of each key. */
const COLUMNS: Record<DuplicateKey, { table: string; column: string }> = {
  serialNumber: { table: 'device_hardware', column: 'serial_key' },
  macAddress: { table: 'device_network', column: 'mac_key' },
};

/**
 * SQL: reads the reports of the organization once by an index, and the devices of repeated keys only. Decommissioned devices
 * are no duplicates, but they have reports.
 */
const findText = ({ table, column }: { table: string; column: string }, tenant: string): string => `
  WITH report AS (
    SELECT r.device_id, r.${column} AS key, count(*) OVER (PARTITION BY r.${column}) AS devices
      FROM ${table} r WHERE r.org_id = :orgId AND r.${column} IS NOT NULL),
  candidate AS (
    SELECT report.key, d.id, d.site_id, d.hostname, d.display_name, d.os_type, d.enrolled_at, s.status, s.last_seen_at,
           count(*) OVER (PARTITION BY report.key)::int AS device_count,
           row_number() OVER (PARTITION BY report.key ORDER BY s.last_seen_at DESC NULLS LAST, d.id) AS position
      FROM report
      JOIN device d ON d.id = report.device_id AND d.decommissioned_at IS NULL AND ${tenant}
      JOIN device_state s ON s.device_id = d.id
     WHERE report.devices > 1
       AND (:siteIds::uuid[] IS NULL OR d.site_id = ANY (:siteIds))
       AND (:groupIds::uuid[] IS NULL OR EXISTS (
         SELECT FROM device_group_member m WHERE m.device_id = d.id AND m.group_id = ANY (:groupIds))))
  SELECT key, device_count AS "deviceCount",
         jsonb_agg(jsonb_build_object('id', id, 'siteId', site_id, 'hostname', hostname, 'displayName', display_name,
           'osType', os_type, 'status', status,
           'lastSeenAt', to_char(last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'enrolledAt', to_char(enrolled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) ORDER BY position) AS devices
    FROM candidate WHERE device_count > 1 AND position <= :maxDevices
   GROUP BY key, device_count ORDER BY key LIMIT :limit`;

const LOCK = `
  SELECT d.id, d.org_id AS "orgId", d.partner_id AS "partnerId", d.site_id AS "siteId", d.hostname,
         d.display_name AS "displayName", d.tags, d.custom_fields AS "customFields", d.version,
         d.decommissioned_at IS NOT NULL AS "isDecommissioned",
         ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = d.id) AS "groupIds"
    FROM device d JOIN organization o ON o.id = d.org_id AND o.partner_id = d.partner_id AND ${ACTIVE_ORGANIZATION}
   WHERE d.id = ANY (:deviceIds::uuid[]) AND `;

const CHANGE = `
  UPDATE device SET display_name = :displayName, site_id = :siteId, tags = :tags, custom_fields = :customFields::jsonb,
         version = version + 1
   WHERE id = :id`;

/** A group of a site has devices of this site only. */
const JOIN_GROUPS = `
  INSERT INTO device_group_member (group_id, device_id, partner_id, org_id)
  SELECT m.group_id, :id, m.partner_id, m.org_id
    FROM device_group_member m JOIN device_group g ON g.id = m.group_id
   WHERE m.device_id = :duplicateId AND (g.site_id IS NULL OR g.site_id = :siteId::uuid)
  ON CONFLICT DO NOTHING`;

const COUNT_GROUPS = 'SELECT count(*)::int AS groups FROM device_group_member WHERE device_id = :id';

/** Finds devices that are one machine, and merges two of them. */
@Injectable()
export class DeviceDuplicatesRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns the sets of devices in use that have a key in common, by key; one more than the limit if there are more. */
  find(
    caller: Caller,
    { orgId, by, siteIds, groupIds, maxSets, maxDevices }: DuplicateSearch,
  ): Promise<DuplicateSet[]> {
    const tenant = tenantCondition(caller, 'organization', 'd');
    const params = { ...tenant.params, orgId, siteIds, groupIds, maxDevices, limit: maxSets + 1 };
    return this.tenants.read<DuplicateSet>(caller, findText(COLUMNS[by], tenant.sql), params);
  }

  /** Locks devices by id, as every change of several devices does. */
  lock(tx: TenantTransaction, caller: Caller, deviceIds: readonly string[]): Promise<MergedDevice[]> {
    const tenant = tenantCondition(caller, 'organization', 'd');
    const sql = `${LOCK}${tenant.sql} ORDER BY d.id FOR NO KEY UPDATE OF d`;
    return tx.query<MergedDevice>(sql, { ...tenant.params, deviceIds });
  }

  /** Adds a locked device to the groups of another one. @returns in how many groups it is */
  async joinGroups(
    tx: TenantTransaction,
    { id, siteId }: Pick<MergedDevice, 'id' | 'siteId'>,
    duplicateId: string,
  ): Promise<number> {
    await tx.query(JOIN_GROUPS, { id, siteId, duplicateId });
    const [row] = await tx.query<{ groups: number }>(COUNT_GROUPS, { id });
    return row?.groups ?? 0;
  }

  /** Stores the merged fields of a locked device. */
  async change(tx: TenantTransaction, device: MergedDevice): Promise<void> {
    const { id, displayName, siteId, tags, customFields } = device;
    await tx.query(CHANGE, { id, displayName, siteId, tags, customFields: JSON.stringify(customFields) });
  }
}
