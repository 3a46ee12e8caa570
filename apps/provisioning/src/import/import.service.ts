import { Injectable } from '@nestjs/common';
import { PartnerAccessDenied, PartnerDirectory, type Caller, type DirectoryPartner } from '@rmm/access';
import { Idempotency, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { ConcurrencyLimits } from '@rmm/rate-limits';
import type { ImportSource } from '../import-runs/import-run.entity.js';
import { ImportJournalService } from '../import-runs/journal/import-journal.service.js';
import { CONCURRENT_IMPORTS_OF_NAMED_PARTNER } from '../limits.js';
import { resolvePartnerId } from '../partners/partner-scope.policy.js';
import { organizationsLock, PartnersRepository } from '../partners/partners.repository.js';
import type { ImportPreviewDto, ImportResultDto } from './dto/import-results.dto.js';
import type { CommitImportDto, PreviewImportDto } from './dto/import-rows.dto.js';
import { decideImport, type ImportMode } from './import-decision.policy.js';
import { planImport, proposeSlugs, type PlannedGroup } from './import-plan.policy.js';
import { parseImportRows, type ImportRow } from './import-rows.js';
import { ImportWriterService } from './import-writer.service.js';
import { type ImportLists, toImportResult, toPreviewedRows } from './import.mapper.js';
import { ImportRepository, type ImportTarget, type RowsWithSlugs } from './import.repository.js';
import { toNameSlugs } from './name-slugs.js';
import { acceptRows } from './row-reader.js';
import { timeOrderedId } from './time-ordered-id.js';

/** Rows of an import and the target they are for. */
export interface ImportRequest extends ImportTarget {
  rows: readonly unknown[];
}

export interface ImportCommit extends ImportRequest {
  mode: ImportMode;
  /** `rows` or, with a connection, `psa` when absent. */
  source?: ImportSource;
  /** Runs in the transaction of the import, after its rows are written; not for a replayed response. */
  onWritten?: (tx: TenantTransaction, result: ImportResultDto) => Promise<void>;
}

/** The caller, the target and the run of rows that are written. */
export interface WriteScope extends Pick<ImportTarget, 'connectionId'> {
  caller: Caller;
  partner: DirectoryPartner;
  runId: string;
}

/** Imports organizations and their sites in bulk. Preview and commit share the plan. */
@Injectable()
export class ImportService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: ImportRepository,
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly writer: ImportWriterService,
    private readonly journal: ImportJournalService,
    private readonly idempotency: Idempotency,
    private readonly concurrency: ConcurrencyLimits,
  ) {}

  /** See `previewRows`. */
  preview(caller: Caller, dto: PreviewImportDto): Promise<ImportPreviewDto> {
    const partnerId = resolvePartnerId(caller, dto.partnerId);
    return this.previewRows(caller, { partnerId, connectionId: null, rows: dto.rows });
  }

  /** See `commitRows`. */
  commit(caller: Caller, dto: CommitImportDto): Promise<ImportResultDto> {
    const partnerId = resolvePartnerId(caller, dto.partnerId);
    return this.commitRows(caller, { partnerId, connectionId: null, rows: dto.rows, mode: dto.mode ?? 'skip' });
  }

  /**
   * Returns the effect of an import on each row; writes nothing.
   * @throws ValidationError, PartnerAccessDenied, RateLimitedError
   */
  async previewRows(caller: Caller, request: ImportRequest): Promise<ImportPreviewDto> {
    const partner = await this.getPartner(request.partnerId);
    return this.withinLimit(caller, partner.partnerId, async () => {
      const { rows, warnings } = await acceptRows(parseImportRows(request.rows));
      const given = { rows, slugs: await toNameSlugs(rows) };
      const state = await this.tenants.transaction(caller, (tx) => this.loadState(tx, partner, request, given));
      const groups = await planImport(rows, state.organizations);
      await proposeSlugs(groups, state.slugs);
      return { rows: toPreviewedRows(request.rows, groups), warnings };
    });
  }

  /**
   * Plans again under the lock of the partner and writes one set of rows after the other, as a run that can be undone. A
   * group that cannot be imported is reported for each of its rows. A repeated request with the same idempotency key gets
   * the same result.
   * @throws ValidationError, PartnerAccessDenied, RateLimitedError, UnavailableError
   */
  async commitRows(caller: Caller, request: ImportCommit): Promise<ImportResultDto> {
    const partner = await this.getPartner(request.partnerId);
    return this.withinLimit(caller, partner.partnerId, () => this.write(caller, partner, request));
  }

  /**
   * Returns the plan of rows that were read, without proposals for slugs; writes nothing. For rows of files, which are
   * planned in chunks.
   * @throws PartnerAccessDenied
   */
  async planRows(caller: Caller, target: ImportTarget, rows: readonly ImportRow[]): Promise<PlannedGroup[]> {
    const { partnerId } = await this.getPartner(target.partnerId);
    const { connectionId } = target;
    const organizations = await this.tenants.transaction(caller, (tx) =>
      this.repository.listMatching(tx, { partnerId, connectionId }, rows),
    );
    return planImport(rows, organizations);
  }

  /** Plans and writes rows in a transaction that has the lock of the partner, and records the changes in the journal of a run. */
  async writeRows(
    tx: TenantTransaction,
    { caller, partner, connectionId, runId }: WriteScope,
    given: RowsWithSlugs,
    mode: ImportMode,
  ): Promise<ImportLists> {
    const { partnerId } = partner;
    const state = await this.loadState(tx, partner, { partnerId, connectionId }, given);
    const groups = await planImport(given.rows, state.organizations);
    const decided = await decideImport(groups, state, mode, timeOrderedId);
    return toImportResult(await this.writer.apply(tx, { caller, partnerId, connectionId, runId }, decided));
  }

  private async write(caller: Caller, partner: DirectoryPartner, request: ImportCommit): Promise<ImportResultDto> {
    const { partnerId, connectionId, mode, onWritten } = request;
    const source = request.source ?? (connectionId === null ? 'rows' : 'psa');
    const { rows, warnings } = await acceptRows(parseImportRows(request.rows));
    const given = { rows, slugs: await toNameSlugs(rows) };
    const run = async (tx: TenantTransaction): Promise<ImportResultDto> => {
      const run = { partnerId, kind: 'organizations', source, connectionId, mode, total: rows.length } as const;
      const journal = await this.journal.begin(tx, caller, run);
      const { runId } = journal;
      const lists = await this.writeRows(tx, { caller, partner, connectionId, runId }, given, mode);
      await this.journal.finish(tx, journal, lists);
      const result = { ...lists, warnings, runId };
      await onWritten?.(tx, result);
      return result;
    };
    return this.tenants.lockedTransaction(caller, organizationsLock(partnerId), (tx) =>
      this.idempotency.once(tx, () => run(tx)),
    );
  }

  /**
   * Counts the imports of a platform administrator for the partner too, which only the body names: the limit of the route
   * counts them for the administrator, since it applies before the body is parsed.
   * @throws RateLimitedError
   */
  private withinLimit<T>(caller: Caller, partnerId: string, work: () => Promise<T>): Promise<T> {
    return caller.tenant.scope === 'system'
      ? this.concurrency.run(CONCURRENT_IMPORTS_OF_NAMED_PARTNER, partnerId, work)
      : work();
  }

  /** @throws PartnerAccessDenied  also for an unknown partner; UnavailableError when its cap is not known */
  async getPartner(partnerId: string): Promise<DirectoryPartner> {
    const partner = await this.partners.find(partnerId);
    if (!partner) throw new PartnerAccessDenied();
    return partner;
  }

  private async loadState(
    tx: TenantTransaction,
    { partnerId, maxOrganizations: cap }: DirectoryPartner,
    { connectionId }: ImportTarget,
    given: RowsWithSlugs,
  ) {
    const remaining = cap === null ? null : Math.max(0, cap - (await this.counters.countOrganizations(tx, partnerId)));
    return this.repository.loadState(tx, { partnerId, connectionId }, given, remaining);
  }
}
