import { PartnerAccessDenied, type Caller } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { Outbox } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { DomainError, Logger, ValidationError } from '@rmm/service-kit';
import { randomUUID } from 'node:crypto';
import { partnerFor } from '../organizations/acting-partner.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { lockOrganizations } from '../partners/partner-locks.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import { decide, refusedGroup, type GroupDecision, type ImportMode } from './decide.js';
import { importMessages } from './import-messages.js';
import type { ImportedItem, RowError, SkippedItem, UpdatedItem } from './import-result.js';
import { parseImportRows, type ImportRow, type UnknownColumn } from './import-row.js';
import { ImportWriter } from './import-writer.js';
import { ImportRepository } from './import.repository.js';
import { plan, type PlannedGroup } from './plan.js';

export interface ImportPreview {
  rows: PreviewedRow[];
  warnings: UnknownColumn[];
}

/** A row as it was sent, and what a commit would do with it. */
export interface PreviewedRow {
  index: number;
  annotation: string;
  slug: string | null;
  organizationId: string | null;
  matchedOrganizationName?: string;
  matchedBy?: 'link' | 'name';
  matchedOrganizationLinkedToSystem?: boolean;
  conflictReason?: string;
  [column: string]: unknown;
}

export interface ImportResult {
  imported: ImportedItem[];
  updated: UpdatedItem[];
  skipped: SkippedItem[];
  errors: RowError[];
  warnings: UnknownColumn[];
}

/** Organizations and their sites by the thousand. Preview and commit share the planner. @see CONTRACT.md 4.10.2 */
@Injectable()
export class ImportService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: ImportRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly partners: PartnersRepository,
    private readonly writer: ImportWriter,
    private readonly outbox: Outbox,
    private readonly logger: Logger,
  ) {}

  /** Writes nothing. @throws ValidationError, PartnerAccessDenied */
  async preview(caller: Caller, given: readonly unknown[], partnerId: string | undefined): Promise<ImportPreview> {
    const { rows, warnings } = wellFormed(given);
    const partner = partnerFor(caller, partnerId);
    const groups = await this.tenants.transaction(caller, async (tx) => {
      return plan(rows, await this.repository.loadState(tx, partner, rows, await this.freePlaces(tx, caller, partner)));
    });
    return { rows: previewed(given, groups), warnings };
  }

  /**
   * Plans again under the partner's lock and writes set by set. What cannot be done is told row by row.
   * @throws ValidationError, PartnerAccessDenied; UnavailableError
   */
  async commit(
    caller: Caller,
    given: readonly unknown[],
    mode: ImportMode,
    partnerId: string | undefined,
  ): Promise<ImportResult> {
    const { rows, warnings } = wellFormed(given);
    const partner = partnerFor(caller, partnerId);
    const decisions = await this.tenants.transaction(caller, async (tx) => {
      await lockOrganizations(tx, partner);
      const freePlaces = await this.freePlaces(tx, caller, partner);
      const state = await this.repository.loadState(tx, partner, rows, freePlaces);
      return this.apply(tx, caller, partner, decide(plan(rows, state), state, mode, randomUUID));
    });
    return { ...resultOf(decisions), warnings };
  }

  private async freePlaces(tx: TenantTransaction, caller: Caller, partnerId: string): Promise<number | null> {
    const partner = await this.partners.find(tx, partnerId);
    if (!partner && caller.tenant.scope === 'system') throw new PartnerAccessDenied();
    const cap = partner?.maxOrganizations ?? null;
    return cap === null ? null : Math.max(0, cap - (await this.organizations.countOf(tx, partnerId)));
  }

  /** All groups at once; only if that fails, each in a savepoint of its own, to find the one that cannot be written. */
  private async apply(
    tx: TenantTransaction,
    caller: Caller,
    partnerId: string,
    decisions: GroupDecision[],
  ): Promise<GroupDecision[]> {
    try {
      await tx.savepoint(() => this.write(tx, caller, partnerId, decisions));
      return decisions;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      this.logger.warn({ err: error, partnerId }, 'an import is written group by group');
    }
    const settled: GroupDecision[] = [];
    for (const decision of decisions) settled.push(await this.applyOne(tx, caller, partnerId, decision));
    return settled;
  }

  private async applyOne(
    tx: TenantTransaction,
    caller: Caller,
    partnerId: string,
    decision: GroupDecision,
  ): Promise<GroupDecision> {
    try {
      await tx.savepoint(() => this.write(tx, caller, partnerId, [decision]));
      return decision;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      if (isUniqueViolation(error, 'external_link_key')) return this.createdConcurrently(tx, partnerId, decision.group);
      this.logger.error({ err: error, partnerId }, 'a group of an import cannot be written');
      return refusedGroup(decision.group, 'write-failed', 'The row could not be written');
    }
  }

  /** Somebody who does not take the partner's lock stored the same link first. */
  private async createdConcurrently(
    tx: TenantTransaction,
    partnerId: string,
    group: PlannedGroup,
  ): Promise<GroupDecision> {
    const organizationId = group.link && (await this.repository.findLinked(tx, partnerId, group.link));
    if (!organizationId) return refusedGroup(group, 'external-id-conflict', 'The external id is in use');
    const skipped = group.rows.map(({ index, organization }): SkippedItem => {
      return { index, organization, organizationId, reason: 'created_concurrently', createdLink: false };
    });
    return { group, writes: null, imported: [], updated: [], skipped, errors: [] };
  }

  private async write(
    tx: TenantTransaction,
    caller: Caller,
    partnerId: string,
    decisions: readonly GroupDecision[],
  ): Promise<void> {
    const writes = decisions.flatMap((decision) => decision.writes ?? []);
    if (writes.length === 0) return;
    const written = await this.writer.write(tx, partnerId, writes);
    await this.outbox.publish(tx, importMessages(caller, partnerId, written));
  }
}

function wellFormed(given: readonly unknown[]): { rows: ImportRow[]; warnings: UnknownColumn[] } {
  const { rows, warnings, problems } = parseImportRows(given);
  if (Object.keys(problems).length > 0) throw new ValidationError(undefined, { fieldErrors: problems });
  return { rows, warnings };
}

function previewed(given: readonly unknown[], groups: readonly PlannedGroup[]): PreviewedRow[] {
  const rows: PreviewedRow[] = [];
  for (const group of groups) {
    const { annotation, slug, match, matchedBy, matchLinkedToSystem, conflictReason } = group;
    for (const { index } of group.rows) {
      rows[index] = {
        ...(given[index] as object),
        index,
        annotation,
        slug,
        organizationId: match?.id ?? null,
        ...(match && { matchedOrganizationName: match.name }),
        ...(matchedBy && { matchedBy }),
        ...(matchedBy === 'name' && { matchedOrganizationLinkedToSystem: matchLinkedToSystem }),
        ...(conflictReason !== null && { conflictReason }),
      };
    }
  }
  return rows;
}

const byIndex = (one: { index: number }, other: { index: number }): number => one.index - other.index;

const resultOf = (decisions: readonly GroupDecision[]): Omit<ImportResult, 'warnings'> => ({
  imported: decisions.flatMap((decision) => decision.imported).sort(byIndex),
  updated: decisions.flatMap((decision) => decision.updated).sort(byIndex),
  skipped: decisions.flatMap((decision) => decision.skipped).sort(byIndex),
  errors: decisions.flatMap((decision) => decision.errors).sort(byIndex),
});
