import { Injectable } from '@nestjs/common';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { isUniqueViolation, type TenantTransaction } from '@rmm/persistence';
import { DomainError, Logger } from '@rmm/service-kit';
import { refuseGroup, type GroupDecision } from './import-decision.policy.js';
import type { PlannedGroup } from './import-plan.policy.js';
import { importMessages, type ImportScope } from './import.events.js';
import { ImportRepository } from './import.repository.js';

/** Writes the decisions of an import, with their events and audit entries. */
@Injectable()
export class ImportWriterService {
  constructor(
    private readonly repository: ImportRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  /**
   * Writes all groups together. When that fails, each half is written by itself and halved again, until the groups that
   * cannot be written are alone: one of them costs about twenty attempts among a thousand groups, not a thousand.
   * @returns the decisions, where those that cannot be written report an error for each of their rows
   */
  async apply(tx: TenantTransaction, scope: ImportScope, decisions: GroupDecision[]): Promise<GroupDecision[]> {
    try {
      await tx.savepoint(() => this.write(tx, scope, decisions));
      return decisions;
    } catch (error) {
      if (error instanceof DomainError) throw error;
      const [only] = decisions;
      if (decisions.length === 1 && only) return [await this.refuse(tx, scope, only, error)];
      const { partnerId } = scope;
      const count = decisions.length;
      this.logger.debug({ err: error, partnerId, count }, 'Groups of an import cannot be written; halving them');
    }
    const middle = decisions.length >> 1;
    const first = await this.apply(tx, scope, decisions.slice(0, middle));
    return [...first, ...(await this.apply(tx, scope, decisions.slice(middle)))];
  }

  private async refuse(
    tx: TenantTransaction,
    { partnerId }: ImportScope,
    { group }: GroupDecision,
    error: unknown,
  ): Promise<GroupDecision> {
    if (isUniqueViolation(error, 'external_link_key')) return this.skipLinked(tx, partnerId, group);
    this.logger.error({ err: error, partnerId }, 'A group of an import cannot be written; its rows report an error');
    return refuseGroup(group, 'write-failed', 'The row could not be written');
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

  private async write(tx: TenantTransaction, scope: ImportScope, decisions: readonly GroupDecision[]): Promise<void> {
    const writes = decisions.flatMap((decision) => decision.writes ?? []);
    if (writes.length === 0) return;
    const written = await this.repository.write(tx, scope.partnerId, writes);
    await this.outbox.publish(tx, importMessages(this.audit, scope, written));
  }
}
