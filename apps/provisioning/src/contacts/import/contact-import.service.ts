import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { PartnerAccessDenied, PartnerDirectory, type Caller } from '@rmm/access';
import { AuditTrail, Outbox, type OutgoingMessage } from '@rmm/messaging';
import { Idempotency, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { Logger, mapYielding } from '@rmm/service-kit';
import type { ImportMode } from '../../import/import-decision.policy.js';
import { replanStatements } from '../../import/replan-statements.js';
import { acceptRows } from '../../import/row-reader.js';
import { writeInHalves } from '../../import/write-in-halves.js';
import type { JournalScope } from '../../import-runs/journal/import-change.types.js';
import { ImportJournalService } from '../../import-runs/journal/import-journal.service.js';
import { resolvePartnerId } from '../../partners/partner-scope.policy.js';
import { contactsLock, MAX_CONTACTS } from '../contacts.service.js';
import {
  contactChanges,
  type ContactResultLists,
  toContactImportResult,
  toPreviewedRow,
} from './contact-import.mapper.js';
import { ContactImportRepository } from './contact-import.repository.js';
import { type ContactDecision, ContactPlanner, type PlannedContact, refuseRow } from './contact-plan.policy.js';
import { parseContactRows, type ContactRow } from './contact-rows.js';
import type { ContactImportPreviewDto, ContactImportResultDto } from './dto/contact-import-results.dto.js';
import type { CommitContactImportDto, PreviewContactImportDto } from './dto/contact-import.dto.js';

/** Imports contacts in bulk. Preview and commit decide by the same rules. */
@Injectable()
export class ContactImportService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: ContactImportRepository,
    private readonly partners: PartnerDirectory,
    private readonly journal: ImportJournalService,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly idempotency: Idempotency,
    private readonly logger: Logger,
  ) {}

  /**
   * Returns the effect of an import on each row; writes nothing.
   * @throws ValidationError, PartnerAccessDenied
   */
  async preview(caller: Caller, dto: PreviewContactImportDto): Promise<ContactImportPreviewDto> {
    const partnerId = await this.getPartnerId(caller, dto.partnerId);
    const { rows, warnings } = await acceptRows(parseContactRows(dto.rows));
    const planned = await this.planRows(caller, partnerId, rows);
    return { rows: planned.map((each) => toPreviewedRow(dto.rows[each.row.index], each)), warnings };
  }

  /**
   * Decides again under the lock of the partner and writes all rows. A row that cannot be imported is reported and leaves the
   * others alone. A repeated request with the same idempotency key gets the same result.
   * @throws ValidationError, PartnerAccessDenied
   */
  async commit(caller: Caller, dto: CommitContactImportDto): Promise<ContactImportResultDto> {
    const partnerId = await this.getPartnerId(caller, dto.partnerId);
    const { rows, warnings } = await acceptRows(parseContactRows(dto.rows));
    const mode = dto.mode ?? 'skip';
    const run = async (tx: TenantTransaction): Promise<ContactImportResultDto> => {
      const recorded = { partnerId, kind: 'contacts', source: 'rows', connectionId: null, mode } as const;
      const journal = await this.journal.begin(tx, caller, { ...recorded, total: rows.length });
      const lists = await this.writeRows(tx, caller, journal, rows, mode);
      await this.journal.finish(tx, journal, lists);
      return { ...lists, warnings, runId: journal.runId };
    };
    return this.tenants.lockedTransaction(caller, contactsLock(partnerId), (tx) =>
      this.idempotency.once(tx, () => run(tx)),
    );
  }

  /** Returns the effect on rows that were read; writes nothing. */
  async planRows(caller: Caller, partnerId: string, rows: readonly ContactRow[]): Promise<PlannedContact[]> {
    const planner = await this.tenants.transaction(caller, (tx) => this.createPlanner(tx, partnerId, rows));
    return mapYielding(rows, (row) => planner.preview(row));
  }

  /** Decides and writes rows in a transaction that has the lock of the contacts, and records the changes of the run. */
  async writeRows(
    tx: TenantTransaction,
    caller: Caller,
    journal: JournalScope,
    rows: readonly ContactRow[],
    mode: ImportMode,
  ): Promise<ContactResultLists> {
    const planner = await this.createPlanner(tx, journal.partnerId, rows);
    const decided = await mapYielding(rows, (row) => planner.decide(row, mode));
    const written = await this.write(tx, journal, decided);
    await this.outbox.publish(tx, this.auditEntries(caller, journal.partnerId, written));
    return toContactImportResult(written);
  }

  /** @throws PartnerAccessDenied  also for an unknown partner */
  private async getPartnerId(caller: Caller, requestedId: string | undefined): Promise<string> {
    const partner = await this.partners.find(resolvePartnerId(caller, requestedId));
    if (!partner) throw new PartnerAccessDenied();
    return partner.partnerId;
  }

  private async createPlanner(tx: TenantTransaction, partnerId: string, rows: readonly ContactRow[]) {
    return new ContactPlanner(rows, await this.repository.loadState(tx, partnerId, rows, MAX_CONTACTS), randomUUID);
  }

  private write(
    tx: TenantTransaction,
    journal: JournalScope,
    decisions: readonly ContactDecision[],
  ): Promise<ContactDecision[]> {
    const { partnerId } = journal;
    return writeInHalves(tx, decisions, {
      write: async (items) => {
        const writes = items.flatMap(({ write }) => write ?? []);
        await replanStatements(tx, writes);
        const written = await this.repository.write(tx, partnerId, writes);
        await this.journal.record(tx, journal, contactChanges(written));
      },
      refuse: ({ row }, err) => {
        this.logger.error({ err, partnerId }, 'A row of a contact import cannot be written; it reports an error');
        return Promise.resolve(refuseRow(row, { code: 'write-failed', text: 'The row could not be written' }));
      },
      onFailure: ({ length: count }, err) =>
        this.logger.debug({ err, partnerId, count }, 'Rows of a contact import cannot be written; halving them'),
    });
  }

  /** Yields an entry with the numbers for each organization. The trail outlives contacts, so it has no names. */
  private *auditEntries(
    caller: Caller,
    partnerId: string,
    decisions: readonly ContactDecision[],
  ): Generator<OutgoingMessage> {
    const counts = new Map<string, { imported: number; updated: number }>();
    for (const { result } of decisions) {
      if (result.list !== 'imported' && result.list !== 'updated') continue;
      const count = counts.get(result.item.organizationId) ?? { imported: 0, updated: 0 };
      count[result.list] += 1;
      counts.set(result.item.organizationId, count);
    }
    for (const [orgId, details] of counts) {
      const resource = { type: 'organization', id: orgId, name: null, orgId, partnerId };
      yield this.audit.toMessage(caller, 'contact.import', resource, details);
    }
  }
}
