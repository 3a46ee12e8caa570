import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { FileRowsService, type GivenCells, type ReadRows } from './file-rows.service.js';
import { ImportRunRowsRepository, type StagedRow } from './import-run-rows.repository.js';
import type { LeasedRun } from './import-runs.repository.js';

/** About as many rows; all rows of an organization are in one chunk. */
const ROWS_PER_CHUNK = 2_000;

export interface RunChunk {
  /** The rows as stored. */
  stored: readonly StagedRow[];
  /** The same rows by the mapping of the run, without those that are invalid. */
  read: ReadRows;
  /** Position of the last row; null after the last chunk. */
  last: number | null;
}

/** Adds to stored rows what is read with their cells. */
type Completion = (rows: readonly StagedRow[]) => readonly GivenCells[];

/**
 * Reads the rows of a run in chunks, the next one while the chunk before is written: the process reads while the database
 * writes. Both chunks are of one file, whose limits bound what they keep in memory.
 */
@Injectable()
export class RunChunksService {
  private readonly ahead = new WeakMap<LeasedRun, { after: number; chunk: Promise<RunChunk | null> }>();

  constructor(
    private readonly tenants: TenantDatabase,
    private readonly rows: ImportRunRowsRepository,
    private readonly fileRows: FileRowsService,
  ) {}

  /** Returns the rows after the position of a run and begins to read those that follow. */
  async readNext(caller: UserCaller, run: LeasedRun, complete: Completion): Promise<RunChunk> {
    const after = run.progress.position ?? -1;
    const ahead = this.ahead.get(run);
    const readAhead = ahead?.after === after ? await ahead.chunk : null;
    const chunk = readAhead ?? (await this.read(caller, run, after, complete));
    if (chunk.last !== null) {
      const next = this.read(caller, run, chunk.last, complete).catch(() => null); // is read again, and fails then
      this.ahead.set(run, { after: chunk.last, chunk: next });
    }
    return chunk;
  }

  private async read(caller: UserCaller, run: LeasedRun, after: number, complete: Completion): Promise<RunChunk> {
    const scope = { runId: run.id, partnerId: run.partnerId };
    const stored = await this.tenants.transaction(caller, (tx) =>
      this.rows.listChunk(tx, scope, after, ROWS_PER_CHUNK),
    );
    const read = await this.fileRows.read(run, complete(stored));
    return { stored, read, last: stored.at(-1)?.position ?? null };
  }
}
