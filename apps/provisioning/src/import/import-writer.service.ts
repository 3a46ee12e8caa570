import { Injectable } from '@nestjs/common';
import { AuditTrail, Outbox, type OutgoingMessage } from '@rmm/messaging';
import { isUniqueViolation, type TenantTransaction } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { ImportJournalService } from '../import-runs/journal/import-journal.service.js';
import type { GroupWrites } from './import-changes.js';
import { refuseGroup, type GroupDecision } from './import-decision.policy.js';
import { organizationChanges } from './import-journal.mapper.js';
import type { PlannedGroup } from './import-plan.policy.js';
import { importMessages, type ImportScope } from './import.events.js';
import { ImportRepository, type WrittenRows } from './import.repository.js';
import { replanStatements } from './replan-statements.js';
import { writeInHalves } from './write-in-halves.js';

/** Groups whose rows are written by the same statements; a multiple of the organizations of one message. */
const GROUPS_PER_PART = 400;

/** Writes the decisions of an import, with their events and audit entries. */
@Injectable()
export class ImportWriterService {
  constructor(
    private readonly repository: ImportRepository,
    private readonly journal: ImportJournalService,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  /** @returns the decisions, where those that cannot be written report an error for each of their rows */
  apply(tx: TenantTransaction, scope: ImportScope, decisions: readonly GroupDecision[]): Promise<GroupDecision[]> {
    const { partnerId } = scope;
    return writeInHalves(tx, decisions, {
      write: (items) => this.write(tx, scope, items),
      refuse: (decision, error) => this.refuse(tx, scope, decision, error),
      onFailure: ({ length: count }, err) =>
        this.logger.debug({ err, partnerId, count }, 'Groups of an import cannot be written; halving them'),
    });
  }

  private async refuse(
    tx: TenantTransaction,
    scope: ImportScope,
    { group }: GroupDecision,
    error: unknown,
  ): Promise<GroupDecision> {
    if (isUniqueViolation(error, 'external_link_key')) return this.skipLinked(tx, scope, group);
    const { partnerId } = scope;
    this.logger.error({ err: error, partnerId }, 'A group of an import cannot be written; its rows report an error');
    return refuseGroup(group, 'write-failed', 'The row could not be written');
  }

  /** Skips a group whose link was stored by a writer that does not take the lock of the partner. */
  private async skipLinked(tx: TenantTransaction, scope: ImportScope, group: PlannedGroup): Promise<GroupDecision> {
    const organizationId = group.link && (await this.repository.findLinkedId(tx, scope, group.link));
    if (!organizationId) return refuseGroup(group, 'external-id-conflict', 'The external id is in use');
    const reason = 'created_concurrently' as const;
    const skipped = group.rows.map(({ index, organization }) => {
      return { index, organization, organizationId, reason, createdLink: false };
    });
    return { group, writes: null, imported: [], updated: [], skipped, errors: [] };
  }

  /** Sends all parts at once; the messages of one are built and encoded while the database writes those after it. */
  private async write(tx: TenantTransaction, scope: ImportScope, decisions: readonly GroupDecision[]): Promise<void> {
    const writes = decisions.flatMap((decision) => decision.writes ?? []);
    if (writes.length === 0) return;
    await replanStatements(tx, writes);
    const parts = toParts(writes).map((part) => this.repository.write(tx, scope, part));
    const recorded = parts.map(async (part) => this.journal.record(tx, scope, organizationChanges(scope, await part)));
    const all = [...parts, ...recorded, this.outbox.publish(tx, this.messagesOf(scope, parts))];
    await Promise.allSettled(all); // no statement is sent after the savepoint has ended
    await Promise.all(all); // rejects with the first failure; those after it follow from it
  }

  /** Yields the messages of each part when it is written. */
  private async *messagesOf(
    scope: ImportScope,
    parts: readonly Promise<WrittenRows>[],
  ): AsyncGenerator<OutgoingMessage> {
    for (const part of parts) yield* importMessages(this.audit, scope, await part);
  }
}

/** Divides groups into parts; when several patch one site, they stay together, since a site is patched once. */
function toParts(writes: readonly GroupWrites[]): (readonly GroupWrites[])[] {
  const patched = writes.flatMap(({ sitePatches }) => sitePatches.map(({ id }) => id));
  if (new Set(patched).size < patched.length) return [writes];
  const parts: (readonly GroupWrites[])[] = [];
  for (let from = 0; from < writes.length; from += GROUPS_PER_PART) {
    parts.push(writes.slice(from, from + GROUPS_PER_PART));
  }
  return parts;
}
