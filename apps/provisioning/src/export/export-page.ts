import type { ExportRequest } from '@rmm/contracts';
import { takeBudgetColumns } from '@rmm/persistence';

/** The columns with which every exported record starts. */
export interface ExportRow {
  id: string;
  orgId: string;
  siteId: string | null;
  /** The export stamp. */
  updatedAt: Date;
  /** The time of a record that another service published; null when the stamp is the time of the record. */
  sourceUpdatedAt: Date | null;
  /** The bytes of the row as JSON, where it was read as such. */
  jsonBytes?: number;
}

/** A page of an export; it ends early when its rows are large. */
export interface ExportRows<Row> {
  rows: (Row & ExportRow)[];
  hasMore: boolean;
}

/** Selects the organization or the site whose records are exported, by the columns of one table. */
export type ExportFilter = 'partner' | 'organization' | 'site';

/**
 * The most bytes of a reply, below the limit of NATS of 1 MB, and of the rows it is made of. A record that is larger is
 * alone in its reply.
 */
export const EXPORT_PAGE_BYTES = 700_000;

const NIL = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const filterOf = ({ orgId, siteId }: ExportRequest): ExportFilter =>
  siteId ? 'site' : orgId ? 'organization' : 'partner';

/**
 * Returns the parameters of a page that its statement names. The first page has a position before every record: one text
 * serves all pages, and the index is read from the position on.
 */
export function pageParams(sql: string, request: ExportRequest, partnerId: string, snapshotAt: string) {
  const { orgId, siteId, updatedSince, after, limit } = request;
  // Records with the time `updatedSince` itself are not exported: the position is behind them.
  const first = updatedSince === null ? NIL : LAST;
  const [afterId = first, afterDefinitionId = first] = after?.id.split(':') ?? [];
  const params: Record<string, unknown> = {
    ...{ partnerId, orgId, siteId: siteId ?? null, snapshotAt, limit: limit + 1 },
    ...{ afterId, afterDefinitionId, afterOrgId: after?.orgId ?? first },
    afterUpdatedAt: after?.updatedAt ?? updatedSince,
  };
  return Object.fromEntries(Object.entries(params).filter(([name]) => new RegExp(`:${name}\\b`).test(sql)));
}

/** Cuts the rows to the limit of the request. */
export function toPage<Row>(rows: (Row & ExportRow)[], limit: number): ExportRows<Row> {
  const endedEarly = takeBudgetColumns(rows);
  return { rows: rows.slice(0, limit), hasMore: endedEarly || rows.length > limit };
}
