import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { contactsLock } from '../../contacts/contacts.service.js';
import { ContactImportService } from '../../contacts/import/contact-import.service.js';
import { ImportService } from '../../import/import.service.js';
import { toNameSlugs } from '../../import/name-slugs.js';
import { organizationsLock } from '../../partners/partners.repository.js';
import { FileRowsService } from '../file-rows.service.js';
import { ImportRunRowsRepository, type RowOutcome, type StagedRow } from '../import-run-rows.repository.js';
import type { CommitOptions, CommittedRowOptions } from '../import-run.entity.js';
import { ImportRunsRepository, type LeasedRun } from '../import-runs.repository.js';
import { RunChunksService } from '../run-chunks.service.js';

/** The lists of both JSON imports, as far as rows of files use them. */
interface WrittenLists {
  imported: readonly { index: number; organizationId: string }[];
  updated: readonly { index: number; organizationId: string }[];
  skipped: readonly { index: number; organizationId: string; reason: string }[];
  errors: readonly { index: number; error: string; code: string }[];
}

/**
 * Commits the rows of a file, complete organizations in each transaction, by the same plans and writers as the JSON imports.
 * A row is pinned to the annotation of its preview: what has changed since is an error of the row.
 */
@Injectable()
export class CommitRowsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly runs: ImportRunsRepository,
    private readonly rows: ImportRunRowsRepository,
    private readonly fileRows: FileRowsService,
    private readonly chunks: RunChunksService,
    private readonly organizations: ImportService,
    private readonly contacts: ContactImportService,
    private readonly audit: AuditTrail,
  ) {}

  /** @returns false when every row is committed */
  async runChunk(caller: UserCaller, run: LeasedRun): Promise<boolean> {
    const { kind, partnerId } = run;
    const lock = kind === 'contacts' ? contactsLock(partnerId) : organizationsLock(partnerId);
    const partner = await this.organizations.getPartner(partnerId);
    const { stored, read, last } = await this.chunks.readNext(caller, run, (rows) => this.readRows(run, rows));
    return this.tenants.lockedTransaction(caller, lock, async (tx) => {
      if (last === null) return this.finish(tx, caller, run);
      const scope = { runId: run.id, partnerId };
      const mode = run.mode ?? 'skip';
      const lists: WrittenLists =
        read.kind === 'contacts'
          ? await this.contacts.writeRows(tx, caller, scope, read.rows, mode)
          : await this.organizations.writeRows(tx, { caller, partner, connectionId: null, runId: run.id }, read, mode);
      const { imported, updated, skipped } = lists;
      const counts = { imported: imported.length, updated: updated.length, skipped: skipped.length };
      const failed = stored.length - counts.imported - counts.updated - counts.skipped;
      await Promise.all([
        this.rows.settle(tx, scope, toOutcomes(stored, lists)),
        this.runs.advance(tx, run, { done: stored.length, ...counts, failed, progress: { position: last } }),
      ]);
      return true;
    });
  }

  /** Reads rows with their pins and the slugs of their names. */
  private async readRows(run: LeasedRun, stored: readonly StagedRow[]) {
    const read = await this.fileRows.read(run, pinRows(run.options, run.kind, stored));
    return read.kind === 'contacts' ? read : { ...read, slugs: await toNameSlugs(read.rows) };
  }

  private async finish(tx: TenantTransaction, caller: UserCaller, run: LeasedRun): Promise<boolean> {
    const invalid = await this.rows.refuseInvalid(tx, { runId: run.id, partnerId: run.partnerId });
    const failed = run.failed + invalid;
    const state = failed > 0 ? 'completed_with_errors' : 'completed';
    const resource = { type: 'import_run', id: run.id, name: run.fileName, orgId: null, partnerId: run.partnerId };
    const { kind, mode, imported, updated, skipped } = run;
    await this.audit.record(tx, caller, 'import.commit', resource, {
      ...{ finished: true, kind, mode, imported, updated, skipped, failed },
    });
    await this.runs.advance(tx, run, { state, failed: invalid, done: invalid });
    return false;
  }
}

/** Adds to each row what the commit says of it: its pins, and the confirmations of its match. */
function pinRows(options: CommitOptions, kind: LeasedRun['kind'], chunk: readonly StagedRow[]) {
  const own = new Map(options.rows?.map((row) => [row.index, row]));
  return chunk.map(({ index, cells, annotation, matchId }) => {
    const { index: _, ...given }: CommittedRowOptions = own.get(index) ?? { index };
    const pins = defaultPins(options, kind, { annotation, matchId }, isPinned(given));
    return { index, cells, extra: { ...pins, ...given } };
  });
}

const isPinned = (given: Omit<CommittedRowOptions, 'index'>): boolean =>
  [given.expectedAnnotation, given.expectedOrganizationId, given.expectedContactId].some((pin) => pin !== undefined);

/** A name or address is a hint: without its confirmation the row is refused as in a JSON import. */
function defaultPins(
  { confirmMatches, reactivate }: CommitOptions,
  kind: LeasedRun['kind'],
  { annotation, matchId }: Pick<StagedRow, 'annotation' | 'matchId'>,
  hasOwnPins: boolean,
): Omit<CommittedRowOptions, 'index'> {
  const isHint = annotation === 'name-match' || annotation === 'email-match';
  if (annotation === null) return {};
  if (isHint && !confirmMatches) return hasOwnPins ? {} : unconfirmedPins(kind, annotation, matchId);
  const pins: Omit<CommittedRowOptions, 'index'> = { expectedAnnotation: annotation };
  if (matchId !== null && kind === 'contacts') pins.expectedContactId = matchId;
  if (matchId !== null && kind === 'organizations') pins.expectedOrganizationId = matchId;
  if (reactivate && annotation === 'matched-soft-deleted') pins.reactivate = true;
  return pins;
}

/** Returns half of the confirmation of a hint, which alone does not confirm it: the row is refused if the match is gone. */
function unconfirmedPins(
  kind: LeasedRun['kind'],
  expectedAnnotation: string,
  matchId: string | null,
): Omit<CommittedRowOptions, 'index'> {
  if (kind === 'contacts') return { expectedAnnotation };
  return matchId === null ? {} : { expectedOrganizationId: matchId };
}

function toOutcomes(chunk: readonly StagedRow[], lists: WrittenLists): RowOutcome[] {
  const outcomes = new Map<number, RowOutcome>();
  for (const result of ['imported', 'updated'] as const) {
    for (const { index, organizationId: orgId } of lists[result]) {
      outcomes.set(index, { index, result, code: null, reason: null, orgId });
    }
  }
  for (const { index, organizationId: orgId, reason: code } of lists.skipped) {
    outcomes.set(index, { index, result: 'skipped', code, reason: null, orgId });
  }
  for (const { index, error: reason, code } of lists.errors) {
    outcomes.set(index, { index, result: 'failed', code, reason, orgId: null });
  }
  const unread = { result: 'failed', code: 'invalid-row', reason: 'The choices for the row are malformed' } as const;
  return chunk.map(({ index }) => outcomes.get(index) ?? { index, ...unread, orgId: null });
}
