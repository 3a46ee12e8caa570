import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { UserCaller } from '@rmm/access';
import type { JournalScope } from '../src/import-runs/journal/import-change.types.js';
import { partnerCaller } from './provisioning-test-database.js';

/** Inserts an import run of a file; ready when `values` name no state. */
export async function insertImportRun(
  admin: pg.Pool,
  partnerId: string,
  values: Record<string, unknown> = {},
): Promise<JournalScope> {
  const run = { id: randomUUID(), partner_id: partnerId, kind: 'organizations', source: 'file', state: 'ready' };
  const record = { ...run, ...values };
  const placeholders = Object.keys(record).map((_, index) => `$${index + 1}`);
  await admin.query(
    `INSERT INTO import_run (${Object.keys(record).join(', ')}) VALUES (${placeholders.join(', ')})`,
    Object.values(record),
  );
  return { runId: record.id, partnerId };
}

/** Returns a caller of a partner that may access some organizations. */
export function memberCaller(partnerId: string, orgIds: string[] = []): UserCaller {
  const { tenant } = partnerCaller(partnerId);
  return { tenant: { ...tenant, orgAccess: 'selected', orgIds } } as unknown as UserCaller;
}
