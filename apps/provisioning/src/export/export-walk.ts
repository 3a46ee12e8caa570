import { Injectable } from '@nestjs/common';
import type { ExportReply, ExportRequest } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { Snapshots } from './snapshot.js';

/** What every record starts with. */
export interface ExportBase {
  id: string;
  orgId: string;
  siteId: string | null;
  updatedAt: Date;
}

/** One resource: its rows under the alias `r`, joined to their organization `o`. Constant text, not from a request. */
export interface ExportSource {
  /** After SELECT, beside the base. */
  columns: string;
  orgId: string;
  siteId: string;
  from: string;
}

/** Two orders of CONTRACT 4.4.2: (id, orgId) for a full walk, (updatedAt, id, orgId) for an incremental one. */
@Injectable()
export class ExportWalk {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly snapshots: Snapshots,
  ) {}

  /** One page, in one statement; `snapshotAt` is taken on the first. */
  async page<Row extends object, T>(
    source: ExportSource,
    request: ExportRequest,
    toRecord: (row: Row) => T,
  ): Promise<ExportReply<T>> {
    const snapshotAt = request.snapshotAt ?? (await this.snapshots.take(request.partnerId)).toISOString();
    const rows = await this.worker.query<Row & ExportBase>(textOf(source, request.updatedSince !== null), [
      request.partnerId,
      request.orgId,
      snapshotAt,
      request.after?.id ?? null,
      request.after?.orgId ?? null,
      request.limit + 1,
      ...(request.updatedSince === null ? [] : [request.updatedSince, request.after?.updatedAt ?? null]),
    ]);
    const records = rows.slice(0, request.limit).map((row) => ({
      ...toRecord(row),
      id: row.id,
      orgId: row.orgId,
      siteId: row.siteId,
      sourceUpdatedAt: row.updatedAt.toISOString(),
    }));
    return { snapshotAt, records, hasMore: rows.length > request.limit };
  }
}

function textOf({ columns, orgId, siteId, from }: ExportSource, incremental: boolean): string {
  const order = incremental ? `r.updated_at, r.id, ${orgId}` : `r.id, ${orgId}`;
  const after = incremental
    ? `r.updated_at > $7::timestamptz and r.updated_at <= $3::timestamptz
       and ($4::uuid is null or (r.updated_at, r.id, ${orgId}) > ($8::timestamptz, $4::uuid, $5::uuid))`
    : `r.created_at <= $3::timestamptz and ($4::uuid is null or (r.id, ${orgId}) > ($4::uuid, $5::uuid))`;
  return `
    select r.id, ${orgId} as "orgId", ${siteId} as "siteId", r.updated_at as "updatedAt", ${columns}
      from ${from}
     where r.partner_id = $1 and r.deleted_at is null and o.deleted_at is null and o.status in ('active', 'trial')
       and ($2::uuid is null or ${orgId} = $2) and ${after}
     order by ${order} limit $6`;
}
