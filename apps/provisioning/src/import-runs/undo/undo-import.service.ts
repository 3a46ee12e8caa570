import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction, WorkerDatabase } from '@rmm/persistence';
import { contactsLock } from '../../contacts/contacts.service.js';
import { organizationsLock } from '../../partners/partners.repository.js';
import { ImportRunsRepository, type LeasedRun } from '../import-runs.repository.js';
import { OrganizationUseService } from './organization-use.service.js';
import { planUndo } from './undo-plan.policy.js';
import type { ChangeOutcome, CurrentRecords, OpenChange } from './undo-plan.types.js';
import { undoMessages } from './undo.events.js';
import { UndoRepository } from './undo.repository.js';

/** Changes in one transaction; more when one organization has more. */
const CHANGES_PER_CHUNK = 1_000;

/** Undoes a run, the changes of some organizations in each transaction. */
@Injectable()
export class UndoImportService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly runs: ImportRunsRepository,
    private readonly repository: UndoRepository,
    private readonly organizationUse: OrganizationUseService,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Undoes the changes of the next organizations.
   * @returns false when everything is undone
   * @throws UnavailableError  when another service does not reply which of them are in use; nothing of the chunk is undone
   */
  async runChunk(caller: UserCaller, run: LeasedRun): Promise<boolean> {
    const scope = { runId: run.id, partnerId: run.partnerId };
    const open = await this.tenants.transaction(caller, (tx) => this.repository.listOpen(tx, scope, CHANGES_PER_CHUNK));
    if (open.length === 0) {
      await this.finish(caller, run);
      return false;
    }
    const lock = run.kind === 'contacts' ? contactsLock(run.partnerId) : organizationsLock(run.partnerId);
    const used = await this.organizationUse.listUsed(caller, run.partnerId, open);
    await this.tenants.lockedTransaction(caller, lock, (tx) => this.undo(tx, caller, run, open, used));
    return true;
  }

  private async undo(
    tx: TenantTransaction,
    caller: UserCaller,
    run: LeasedRun,
    open: readonly OpenChange[],
    usedElsewhere: ReadonlySet<string>,
  ): Promise<void> {
    const scope = { runId: run.id, partnerId: run.partnerId };
    const current = await this.repository.loadCurrent(tx, scope, open);
    const plan = planUndo(open, withUse(current, usedElsewhere));
    const written = await this.repository.apply(tx, scope, plan);
    await this.repository.settle(tx, scope, plan.outcomes);
    const orgOfContact = new Map(open.map(({ recordId, orgId }) => [recordId, orgId]));
    await this.outbox.publish(tx, undoMessages(this.audit, caller, scope, plan, written, orgOfContact));
    const kept = plan.outcomes.filter(isKept).length;
    const done = plan.outcomes.length;
    await this.runs.advance(tx, run, { done, undoKept: kept, undoRestored: done - kept });
  }

  /** Ends the undo as the worker, since the caller may not see every change any more; all of it or nothing, for the case of a lost lease. */
  private async finish(caller: UserCaller, run: LeasedRun): Promise<void> {
    await this.worker.transaction(async (tx) => {
      await this.runs.advance(tx, run, { state: 'undone', undoKept: await this.runs.keepUnseen(tx, run) });
      const resource = { type: 'import_run', id: run.id, name: run.fileName, orgId: null, partnerId: run.partnerId };
      const { undoRestored: restored, undoKept: kept } = run;
      await this.audit.record(tx, caller, 'import.undo', resource, { finished: true, restored, kept });
    });
  }
}

const withUse = (current: CurrentRecords, used: ReadonlySet<string>): CurrentRecords => ({
  ...current,
  organizations: current.organizations.map((each) => ({ ...each, isUsed: each.isUsed || used.has(each.id) })),
});

const isKept = ({ outcome }: ChangeOutcome): boolean => outcome === 'kept';
