import { randomUUID } from 'node:crypto';
import type { ExportedBase, ExportReply, ExportRequest } from '@rmm/contracts';
import { ExportRepository } from '../src/export/export.repository.js';
import { ExportService } from '../src/export/export.service.js';
import { FieldValuePagesRepository } from '../src/export/field-value-pages.repository.js';
import { RecordPagesRepository } from '../src/export/record-pages.repository.js';
import { ExportRecordsRepository } from '../src/export/records/export-records.repository.js';
import type { PublishedRecord } from '../src/export/records/record-message.js';
import { actingPartnerKey } from './acting-callers.js';
import type { ProvisioningTestDatabase } from './provisioning-test-database.js';

/** A list of the service. */
export type ExportList = (request: ExportRequest) => Promise<ExportReply<object>>;

/** The service on a database alone. */
export const exportServiceOn = ({ tenants }: ProvisioningTestDatabase): ExportService =>
  new ExportService(
    new ExportRepository(tenants),
    new RecordPagesRepository(tenants),
    new FieldValuePagesRepository(tenants),
  );

export const exportRequest = (partnerId: string, over: Partial<ExportRequest> = {}): ExportRequest => ({
  caller: actingPartnerKey(partnerId),
  orgId: null,
  snapshotAt: null,
  updatedSince: null,
  after: null,
  limit: 100,
  ...over,
});

/**
 * Reads every page of an export, as partner-gateway does; `betweenPages` runs after each.
 * @throws Error when the snapshot of a page differs from that of the first
 */
export async function readAllPages(
  list: ExportList,
  partnerId: string,
  given: Partial<ExportRequest> = {},
  betweenPages: () => Promise<void> = () => Promise.resolve(),
): Promise<{ records: ExportedBase[]; snapshotAt: string }> {
  const request = exportRequest(partnerId, given);
  const records: ExportedBase[] = [];
  for (;;) {
    const page = await list(request);
    if (request.snapshotAt !== null && page.snapshotAt !== request.snapshotAt) throw new Error('the snapshot changed');
    records.push(...page.records);
    request.snapshotAt = page.snapshotAt;
    const last = page.records.at(-1);
    if (!page.hasMore || !last) return { records, snapshotAt: page.snapshotAt };
    request.after = { id: last.id, orgId: last.orgId, updatedAt: last.changedAt ?? last.sourceUpdatedAt };
    await betweenPages();
  }
}

/** Stores a record as if another service had published it. */
export async function publishRecord(
  { worker }: ProvisioningTestDatabase,
  record: Partial<PublishedRecord> & Pick<PublishedRecord, 'partnerId' | 'resource'>,
): Promise<string> {
  const records = new ExportRecordsRepository();
  const whole: PublishedRecord = {
    ...{ id: randomUUID(), orgId: null, siteId: null, deviceId: null, updatedAt: new Date() },
    record: { name: 'Record' },
    ...record,
  };
  await worker.transaction((tx) => (whole.record === null ? records.remove(tx, whole) : records.store(tx, whole)));
  return whole.id;
}
