import type { ApiPath, ResponseBody } from './operations.js';

/** The exports of the partner interface: GET operations whose response has `snapshotAt`, `data` and `hasMore`. */
export type PartnerExportPath = {
  [Path in ApiPath<'get'>]: ResponseBody<'get', Path> extends { snapshotAt: string; data: unknown[]; hasMore: boolean }
    ? Path
    : never;
}[ApiPath<'get'>];

export type PartnerRecord<Path extends PartnerExportPath> =
  ResponseBody<'get', Path> extends { data: (infer Item)[] } ? Item : never;

export interface PartnerExportOptions {
  /** Only records of this organization. */
  orgId?: string;
  /** Only records that changed after this time: `snapshotAt` of an earlier export. */
  updatedSince?: string | Date;
  /** Records per page. */
  limit?: number;
  signal?: AbortSignal;
}

interface ExportPage {
  snapshotAt: string;
  data: unknown[];
  nextCursor: string | null;
  hasMore: boolean;
}

/** An export of the partner interface, read as it is iterated. Iterate it once. */
export class PartnerExport<Path extends PartnerExportPath> implements AsyncIterable<PartnerRecord<Path>> {
  private snapshot?: string;

  constructor(
    private readonly read: (query: Record<string, unknown>) => Promise<ExportPage>,
    private readonly options: PartnerExportOptions,
  ) {}

  /**
   * The moment of the export. Store it after the last record, and give it to the next export as `updatedSince`.
   * @throws Error  before the first page was read
   */
  get snapshotAt(): string {
    if (this.snapshot === undefined) throw new Error('The export has not begun: no page was read yet');
    return this.snapshot;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PartnerRecord<Path>> {
    const { orgId, updatedSince, limit } = this.options;
    let cursor: string | null = null;
    do {
      const page = await this.read({ orgId, updatedSince, limit, cursor });
      this.snapshot = page.snapshotAt;
      yield* page.data as PartnerRecord<Path>[];
      if (page.hasMore && (page.nextCursor === null || page.nextCursor === cursor)) {
        throw new Error('The cursor does not advance');
      }
      cursor = page.hasMore ? page.nextCursor : null;
    } while (cursor !== null);
  }
}
