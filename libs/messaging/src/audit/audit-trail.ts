import type { Actor, AuditEntry, AuditResult } from '@rmm/contracts';
import type { WorkerDatabase } from '@rmm/persistence';
import { currentContext } from '@rmm/service-kit';
import type { Outbox, OutboxTransaction } from '../outbox/outbox.js';
import { redactDetails, oneLine } from './redact-details.js';

const MAX_NAME = 255;
const MAX_USER_AGENT = 512;
const MAX_MESSAGE = 1_000;

/** Who an audit row names; every Caller of @rmm/access is one. */
export interface AuditedCaller {
  actor: Actor;
  tenant: { partnerId: string | null; orgId: string | null };
}

/** What was acted on. Without orgId and partnerId the caller's own stand. */
export interface AuditedResource {
  type: string;
  id?: string | null;
  name?: string | null;
  /** Null for a partner-level act. */
  orgId?: string | null;
  partnerId?: string | null;
}

/** Audit rows on their way to identity, through this service's outbox. @see CONTRACT.md 9 */
export class AuditTrail {
  constructor(
    private readonly outbox: Outbox,
    private readonly worker: WorkerDatabase,
  ) {}

  /**
   * Writes the row in the transaction of the change it speaks of. Details are cleansed of secrets.
   * @param action  a name of SPEC 6.4 or CONTRACT 9
   */
  async add(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    action: string,
    resource: AuditedResource,
    details: Record<string, unknown> = {},
    result: AuditResult = 'success',
    errorMessage?: string,
  ): Promise<void> {
    const context = currentContext();
    const data: AuditEntry = {
      actor: { type: caller.actor.type, id: caller.actor.id, email: caller.actor.email ?? null },
      action,
      resourceType: resource.type,
      resourceId: resource.id ?? null,
      resourceName: lineOf(resource.name, MAX_NAME),
      details: redactDetails(details),
      ipAddress: context?.ipAddress ?? null,
      userAgent: lineOf(context?.userAgent, MAX_USER_AGENT),
      result,
      errorMessage: lineOf(errorMessage, MAX_MESSAGE),
      initiatedBy: caller.actor.type === 'user' ? caller.actor.id : null,
      requestId: context?.requestId ?? null,
    };
    const partnerId = resource.partnerId === undefined ? caller.tenant.partnerId : resource.partnerId;
    const orgId = resource.orgId === undefined ? caller.tenant.orgId : resource.orgId;
    const aggregateId = resource.id ?? orgId ?? partnerId ?? 'platform';
    await this.outbox.add(tx, {
      stream: 'audit',
      type: action,
      aggregateId,
      partnerId,
      orgId,
      actor: data.actor,
      data,
    });
    if (context) context.audited = true;
  }

  /** For denials and failures, which have no transaction to ride in: a short one of its own. */
  addDirect(
    caller: AuditedCaller,
    action: string,
    resource: AuditedResource,
    details: Record<string, unknown> = {},
    result: AuditResult = 'success',
    errorMessage?: string,
  ): Promise<void> {
    return this.worker.transaction((tx) => this.add(tx, caller, action, resource, details, result, errorMessage));
  }
}

const lineOf = (text: string | null | undefined, maxLength: number): string | null =>
  text === null || text === undefined ? null : oneLine(text, maxLength);
