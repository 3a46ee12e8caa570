import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { ImportRunRowsRepository, type StagedRow } from './import-run-rows.repository.js';
import type { LeasedRun } from './import-runs.repository.js';

/** About as many rows; all rows of an organization are in one chunk. */
const ROWS_PER_CHUNK = 2_000;

export interface RunChunk<Read> {
  /** The rows as stored. */
  stored: readonly StagedRow[];
  /** The same rows as the step reads them. */
  read: Read;
  /** Position of the last row; null after the last chunk. */
  last: number | null;
}

/** Reads stored rows for a step. */
type ReadRows<Read> = (rows: readonly StagedRow[]) => Promise<Read>;

interface ChunkAhead {
  after: number;
  chunk: Promise<RunChunk<unknown> | null>;
}

/**
 * Reads the rows of a run in chunks, the next one while the chunk before is written: the process reads while the database
 * writes. Both chunks are of one file, whose limits bound what they keep in memory.
 */
@Injectable()
export class RunChunksService {
  private readonly ahead = new WeakMap<LeasedRun, ChunkAhead>();

  constructor(
    private readonly tenants: TenantDatabase,
    private readonly rows: ImportRunRowsRepository,
  ) {}

  /** Returns the rows after the position of a run and begins to read those that follow. */
  async readNext<Read>(caller: UserCaller, run: LeasedRun, readRows: ReadRows<Read>): Promise<RunChunk<Read>> {
    const after = run.progress.position ?? -1;
    const ahead = this.ahead.get(run);
    const readAhead = ahead?.after === after ? ((await ahead.chunk) as RunChunk<Read> | null) : null;
    const chunk = readAhead ?? (await this.read(caller, run, after, readRows));
    if (chunk.last !== null) {
      const next = this.read(caller, run, chunk.last, readRows).catch(() => null); // is read again, and fails then
      this.ahead.set(run, { after: chunk.last, chunk: next });
    }
    return chunk;
  }

  private async read<Read>(
    caller: UserCaller,
    run: LeasedRun,
    after: number,
    readRows: ReadRows<Read>,
  ): Promise<RunChunk<Read>> {
    const scope = { runId: run.id, partnerId: run.partnerId };
    const stored = await this.tenants.transaction(caller, (tx) =>
      this.rows.listChunk(tx, scope, after, ROWS_PER_CHUNK),
    );
    return { stored, read: await readRows(stored), last: stored.at(-1)?.position ?? null };
  }
}
