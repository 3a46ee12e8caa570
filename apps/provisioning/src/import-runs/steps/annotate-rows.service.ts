import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { ContactImportService } from '../../contacts/import/contact-import.service.js';
import { ALREADY_LINKED } from '../../import/import-decision.policy.js';
import { ImportService } from '../../import/import.service.js';
import { FileRowsService } from '../file-rows.service.js';
import { ImportRunRowsRepository, type AnnotatedRow, type StagedRow } from '../import-run-rows.repository.js';
import { ImportRunsRepository, type LeasedRun } from '../import-runs.repository.js';
import { RowPositions } from '../row-positions.js';
import { RunChunksService } from '../run-chunks.service.js';

const ROWS_PER_BATCH = 1_000;

/** Previews the rows of a file: determines the effect that a commit would have on each. */
@Injectable()
export class AnnotateRowsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly runs: ImportRunsRepository,
    private readonly rows: ImportRunRowsRepository,
    private readonly fileRows: FileRowsService,
    private readonly chunks: RunChunksService,
    private readonly organizations: ImportService,
    private readonly contacts: ContactImportService,
  ) {}

  /** @returns false when every row is annotated */
  async runChunk(caller: UserCaller, run: LeasedRun): Promise<boolean> {
    if (run.progress.position === undefined) return this.reposition(caller, run);
    const scope = { runId: run.id, partnerId: run.partnerId };
    const { stored, read, last } = await this.chunks.readNext(caller, run, (rows) => this.annotate(caller, run, rows));
    await this.tenants.transaction(caller, async (tx) => {
      await this.rows.annotate(tx, scope, read);
      const annotations = addCounts(run.annotations, read);
      if (last !== null) {
        await this.runs.advance(tx, run, { done: stored.length, annotations, progress: { position: last } });
      } else await this.runs.advance(tx, run, { state: 'ready', progress: {}, done: run.annotations['invalid'] ?? 0 });
    });
    return last !== null;
  }

  /** Reads all rows again by a new mapping. A process that dies in between leaves it to another one from the start. */
  private async reposition(caller: UserCaller, run: LeasedRun): Promise<boolean> {
    const scope = { runId: run.id, partnerId: run.partnerId };
    const positions = new RowPositions();
    let invalid = 0;
    for (let after = -1; ;) {
      const { rows } = await this.rows.listInOrder(caller, scope, { after, limit: ROWS_PER_BATCH });
      const states = await this.fileRows.readStates(caller, run, rows, positions);
      invalid += states.filter(({ annotation }) => annotation !== null).length;
      await this.tenants.transaction(caller, async (tx) => {
        await this.rows.reposition(tx, scope, states);
        await this.runs.advance(tx, run, {});
      });
      const last = rows.at(-1);
      if (!last) break;
      after = last.index;
    }
    const annotations: Record<string, number> = invalid > 0 ? { invalid } : {};
    await this.tenants.transaction(caller, (tx) =>
      this.runs.advance(tx, run, { annotations, progress: { position: -1 } }),
    );
    return true;
  }

  private async annotate(caller: UserCaller, run: LeasedRun, stored: readonly StagedRow[]): Promise<AnnotatedRow[]> {
    if (stored.length === 0) return [];
    const { partnerId, connectionId } = run;
    const read = await this.fileRows.read(run, stored);
    if (read.kind === 'contacts') {
      const planned = await this.contacts.planRows(caller, partnerId, read.rows);
      return planned.map(({ row, annotation, organization, match, isMatchNew, refusal, warning }) => ({
        index: row.index,
        annotation,
        orgId: organization?.id ?? null,
        matchId: isMatchNew ? null : (match?.id ?? null),
        matchName: match?.name ?? null,
        reason: refusal?.text ?? warning,
      }));
    }
    const groups = await this.organizations.planRows(caller, { partnerId, connectionId }, read.rows);
    return groups.flatMap(({ rows: ofGroup, annotation, match, matchLinkedToSystem, conflictReason }) =>
      ofGroup.map(({ index }) => ({
        index,
        annotation,
        orgId: match?.id ?? null,
        matchId: match?.id ?? null,
        matchName: match?.name ?? null,
        reason: matchLinkedToSystem ? ALREADY_LINKED : conflictReason,
      })),
    );
  }
}

function addCounts(counts: Record<string, number>, rows: readonly AnnotatedRow[]): Record<string, number> {
  const sum = { ...counts };
  for (const { annotation } of rows) sum[annotation] = (sum[annotation] ?? 0) + 1;
  return sum;
}
