import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { tenantOf } from '@rmm/access';
import type {
  ExportedAutomation,
  ExportedBackupConfiguration,
  ExportedBase,
  ExportedConfigurationAssignment,
  ExportedConfigurationPolicy,
  ExportedCustomField,
  ExportedCustomFieldValue,
  ExportedDevice,
  ExportedDeviceInventory,
  ExportedDeviceRelationships,
  ExportedDeviceSoftware,
  ExportedOrganization,
  ExportedScript,
  ExportedSite,
  ExportReply,
  ExportRequest,
} from '@rmm/contracts';
import type { HasTenant } from '@rmm/persistence';
import { forEachYielding, UnavailableError } from '@rmm/service-kit';
import { EXPORT_PAGE_BYTES, type ExportRow, type ExportRows } from './export-page.js';
import { DEVICES, ExportRepository, ORGANIZATIONS, SITES, type ExportResource } from './export.repository.js';
import { FieldValuePagesRepository } from './field-value-pages.repository.js';
import {
  AUTOMATIONS,
  BACKUP_CONFIGURATIONS,
  CONFIGURATION_ASSIGNMENTS,
  CONFIGURATION_POLICIES,
  CUSTOM_FIELDS,
  DEVICE_INVENTORY,
  DEVICE_RELATIONSHIPS,
  DEVICE_SOFTWARE,
  RecordPagesRepository,
  SCRIPTS,
  type RecordColumns,
  type RecordResource,
} from './record-pages.repository.js';
import {
  type CustomFieldRow,
  type ScriptRow,
  toCustomField,
  toFieldValue,
  toPublished,
  toScript,
} from './resources/definition-records.js';
import {
  type DeviceRow,
  type InventoryRow,
  type RelationshipsRow,
  type SoftwareRow,
  toDevice,
  toDeviceInventory,
  toDeviceRelationships,
  toDeviceSoftware,
} from './resources/device-records.js';

const SNAPSHOT_ATTEMPTS = 100;
const SNAPSHOT_PAUSE_MS = 20;

type Page<T> = Promise<ExportReply<T>>;

/** Exports records page by page, in full or as changes since a time. @see docs/reference/partner-interface.md */
@Injectable()
export class ExportService {
  constructor(
    private readonly tables: ExportRepository,
    private readonly records: RecordPagesRepository,
    private readonly fieldValues: FieldValuePagesRepository,
  ) {}

  listOrganizations(request: ExportRequest): Page<ExportedOrganization> {
    return this.listTable(ORGANIZATIONS, request, ({ name, slug, type, status }: ExportedOrganization) => {
      return { name, slug, type, status };
    });
  }

  listSites(request: ExportRequest): Page<ExportedSite> {
    return this.listTable(SITES, request, ({ name, timezone, address, contact }: ExportedSite) => {
      return { name, timezone, address, contact };
    });
  }

  listDevices(request: ExportRequest): Page<ExportedDevice> {
    return this.listTable<DeviceRow, ExportedDevice>(DEVICES, request, toDevice);
  }

  listDeviceInventory(request: ExportRequest): Page<ExportedDeviceInventory> {
    return this.listRecords<InventoryRow, ExportedDeviceInventory>(DEVICE_INVENTORY, request, toDeviceInventory);
  }

  listDeviceSoftware(request: ExportRequest): Page<ExportedDeviceSoftware> {
    return this.listRecords<SoftwareRow, ExportedDeviceSoftware>(DEVICE_SOFTWARE, request, toDeviceSoftware);
  }

  listDeviceRelationships(request: ExportRequest): Page<ExportedDeviceRelationships> {
    return this.listRecords<RelationshipsRow, ExportedDeviceRelationships>(
      DEVICE_RELATIONSHIPS,
      request,
      toDeviceRelationships,
    );
  }

  listConfigurationPolicies(request: ExportRequest): Page<ExportedConfigurationPolicy> {
    return this.listRecords(CONFIGURATION_POLICIES, request, toPublished<ExportedConfigurationPolicy>);
  }

  listConfigurationAssignments(request: ExportRequest): Page<ExportedConfigurationAssignment> {
    return this.listRecords(CONFIGURATION_ASSIGNMENTS, request, toPublished<ExportedConfigurationAssignment>);
  }

  listAutomations(request: ExportRequest): Page<ExportedAutomation> {
    return this.listRecords(AUTOMATIONS, request, toPublished<ExportedAutomation>);
  }

  listScripts(request: ExportRequest): Page<ExportedScript> {
    return this.listRecords<ScriptRow, ExportedScript>(SCRIPTS, request, toScript);
  }

  listBackupConfigurations(request: ExportRequest): Page<ExportedBackupConfiguration> {
    return this.listRecords(BACKUP_CONFIGURATIONS, request, toPublished<ExportedBackupConfiguration>);
  }

  listCustomFields(request: ExportRequest): Page<ExportedCustomField> {
    return this.listRecords<CustomFieldRow, ExportedCustomField>(CUSTOM_FIELDS, request, toCustomField);
  }

  listCustomFieldValues(request: ExportRequest): Page<ExportedCustomFieldValue> {
    return this.list(request, (snapshotAt) => this.fieldValues.list(request, snapshotAt), toFieldValue);
  }

  private listTable<Row, T extends object>(
    resource: ExportResource,
    request: ExportRequest,
    toRecord: (row: Row & ExportRow) => T,
  ): Page<T> {
    return this.list(request, (snapshotAt) => this.tables.list<Row>(resource, request, snapshotAt), toRecord);
  }

  private listRecords<Row, T extends object>(
    resource: RecordResource,
    request: ExportRequest,
    toRecord: (row: Row & RecordColumns & ExportRow) => T,
  ): Page<T> {
    return this.list(request, (snapshotAt) => this.records.list<Row>(resource, request, snapshotAt), toRecord);
  }

  private async list<Row, T extends object>(
    request: ExportRequest,
    read: (snapshotAt: string) => Promise<ExportRows<Row>>,
    toRecord: (row: Row & ExportRow) => T,
  ): Page<T> {
    const snapshotAt = request.snapshotAt ?? (await this.takeSnapshot(tenantOf(request.caller))).toISOString();
    const { rows, hasMore } = await read(snapshotAt);
    // Half the time and memory of spreading two objects into a third.
    const records = await withinReply(rows, (row) => Object.assign(toRecord(row), baseOf(row)));
    return { snapshotAt, records, hasMore: hasMore || records.length < rows.length };
  }

  /**
   * Returns a time up to which every change is committed, and before which none will be stamped any more.
   *
   * A change has the time of its statement but becomes visible at its commit, so the current time would miss a change
   * stamped before it and committed after it, in this export and in every later one. Writers of a partner have a shared
   * lock from their first stamp to their end (trigger `stamp_change`). The exclusive lock is tried, never waited for, so
   * that no writer queues behind an export.
   * @throws UnavailableError  when transactions of the partner overlap without a pause for two seconds
   */
  private async takeSnapshot(caller: HasTenant): Promise<Date> {
    for (let attempt = 0; attempt < SNAPSHOT_ATTEMPTS; attempt += 1) {
      const at = await this.tables.findSnapshotTime(caller);
      if (at) return at;
      await sleep(SNAPSHOT_PAUSE_MS);
    }
    throw new UnavailableError(undefined, { logDetails: { reason: 'no snapshot while the partner is written to' } });
  }
}

/** A published record has the time of its publisher, and in addition the stamp by which it is ordered. */
const baseOf = ({ id, orgId, siteId, updatedAt, sourceUpdatedAt }: ExportRow): ExportedBase => ({
  id,
  orgId,
  siteId,
  sourceUpdatedAt: (sourceUpdatedAt ?? updatedAt).toISOString(),
  ...(sourceUpdatedAt && { changedAt: updatedAt.toISOString() }),
});

/**
 * Maps rows to the first records that fit into a reply, at least one. Yields to the event loop after a few milliseconds. A
 * record is no longer than the JSON of a row that has its fields and more.
 */
async function withinReply<Row extends ExportRow, T>(rows: readonly Row[], toRecord: (row: Row) => T): Promise<T[]> {
  const records: T[] = [];
  let bytes = 0;
  await forEachYielding(rows, (row) => {
    if (bytes > EXPORT_PAGE_BYTES) return; // the reply is full
    const record = toRecord(row);
    bytes += row.jsonBytes ?? Buffer.byteLength(JSON.stringify(record));
    if (bytes <= EXPORT_PAGE_BYTES || records.length === 0) records.push(record);
  });
  return records;
}
