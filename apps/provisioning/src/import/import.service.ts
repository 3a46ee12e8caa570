import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { PartnerAccessDenied, PartnerDirectory, type Caller, type DirectoryPartner } from '@rmm/access';
import { Outbox } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { DomainError, Logger, ValidationError } from '@rmm/service-kit';
import { PartnersRepository } from '../partners/partners.repository.js';
import { resolvePartnerId } from '../partners/partner-scope.policy.js';
import type { ImportPreviewDto, ImportResultDto } from './dto/import-results.dto.js';
import type { CommitImportDto, PreviewImportDto } from './dto/import-rows.dto.js';
import { decideImport, refuseGroup, type GroupDecision } from './import-decision.policy.js';
import { planImport, type PlannedGroup } from './import-plan.js';
import { parseImportRows, type ImportRow, type UnknownColumn } from './import-rows.js';
import { importMessages } from './import.events.js';
import { toImportResult, toPreviewedRows } from './import.mapper.js';
import { ImportRepository } from './import.repository.js';

/** The caller and the partner of one import. */
interface ImportScope {
  caller: Caller;
  partnerId: string;
  partner: DirectoryPartner;
}

/** Imports organizations and their sites in bulk. Preview and commit share the plan. */
@Injectable()
export class ImportService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: ImportRepository,
    private readonly partners: PartnerDirectory,
    private readonly counters: PartnersRepository,
    private readonly outbox: Outbox,
    private readonly logger: Logger,
  ) {}

  /** Returns the effect of an import on each row; writes nothing. @throws ValidationError, PartnerAccessDenied */
  async preview(caller: Caller, dto: PreviewImportDto): Promise<ImportPreviewDto> {
    const { rows, warnings } = readRows(dto.rows);
    const scope = await this.resolveScope(caller, dto.partnerId);
    const groups = await this.tenants.transaction(caller, async (tx) =>
      planImport(rows, await this.loadState(tx, scope, rows)),
    );
    return { rows: toPreviewedRows(dto.rows, groups), warnings };
  }

  /**
   * Plans again under the lock of the partner and writes one set of rows after the other. A group that cannot be
   * imported is reported for each of its rows.
   * @throws ValidationError, PartnerAccessDenied; UnavailableError
   */
  async commit(caller: Caller, dto: CommitImportDto): Promise<ImportResultDto> {
    const { rows, warnings } = readRows(dto.rows);
    const scope = await this.resolveScope(caller, dto.partnerId);
    const decisions = await this.tenants.transaction(caller, async (tx) => {
      await this.counters.lockOrganizations(tx, scope.partnerId);
      const state = await this.loadState(tx, scope, rows);
      return this.apply(tx, scope, decideImport(planImport(rows, state), state, dto.mode ?? 'skip', randomUUID));
    });
    return { ...toImportResult(decisions), warnings };
  }

  /** @throws PartnerAccessDenied  also for an unknown partner; UnavailableError when its cap is not known */
  private async resolveScope(caller: Caller, requestedId: string | undefined): Promise<ImportScope> {
    const partnerId = resolvePartnerId(caller, requestedId);
    const partner = await this.partners.find(partnerId);
    if (!partner) throw new PartnerAccessDenied();
    return { caller, partnerId, partner };
  }

  private async loadState(tx: TenantTransaction, { partnerId, partner }: ImportScope, rows: readonly ImportRow[]) {
    const { maxOrganizations: cap } = partner;
    const remaining = cap === null ? null : Math.max(0, cap - (await this.counters.countOrganizations(tx, partnerId)));
    return this.repository.loadState(tx, partnerId, rows, remaining);
  }

  /** Writes all groups together; if that fails, each in a savepoint of its own, to isolate the failing one. */
  private async apply(tx: TenantTransaction, scope: ImportScope, decisions: GroupDecision[]): Promise<GroupDecision[]> {
    try {
      await tx.savepoint(() => this.write(tx, scope, decisions));
      return decisions;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      const { partnerId } = scope;
      this.logger.warn({ err: error, partnerId }, 'Import failed as a whole; it is written group by group');
    }
    const applied: GroupDecision[] = [];
    for (const decision of decisions) applied.push(await this.applyOne(tx, scope, decision));
    return applied;
  }

  private async applyOne(tx: TenantTransaction, scope: ImportScope, decision: GroupDecision): Promise<GroupDecision> {
    const { partnerId } = scope;
    try {
      await tx.savepoint(() => this.write(tx, scope, [decision]));
      return decision;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      if (isUniqueViolation(error, 'external_link_key')) return this.skipLinked(tx, partnerId, decision.group);
      this.logger.error({ err: error, partnerId }, 'A group of an import cannot be written; its rows report an error');
      return refuseGroup(decision.group, 'write-failed', 'The row could not be written');
    }
  }

  /** Skips a group whose link was stored by a writer that does not take the lock of the partner. */
  private async skipLinked(tx: TenantTransaction, partnerId: string, group: PlannedGroup): Promise<GroupDecision> {
    const organizationId = group.link && (await this.repository.findLinkedId(tx, partnerId, group.link));
    if (!organizationId) return refuseGroup(group, 'external-id-conflict', 'The external id is in use');
    const reason = 'created_concurrently' as const;
    const skipped = group.rows.map(({ index, organization }) => {
      return { index, organization, organizationId, reason, createdLink: false };
    });
    return { group, writes: null, imported: [], updated: [], skipped, errors: [] };
  }

  private async write(
    tx: TenantTransaction,
    { caller, partnerId }: ImportScope,
    decisions: readonly GroupDecision[],
  ): Promise<void> {
    const writes = decisions.flatMap((decision) => decision.writes ?? []);
    if (writes.length === 0) return;
    const written = await this.repository.write(tx, partnerId, writes);
    await this.outbox.publish(tx, importMessages(caller, partnerId, written));
  }
}

/** @throws ValidationError  with the problems of all rows */
function readRows(given: readonly unknown[]): { rows: ImportRow[]; warnings: UnknownColumn[] } {
  const { rows, warnings, problems } = parseImportRows(given);
  if (Object.keys(problems).length > 0) throw new ValidationError(undefined, { fieldErrors: problems });
  return { rows, warnings };
}
