import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { AUDIT_ENTRIES, type Actor, type AuditAction, type AuditEntry, type AuditResult } from '@rmm/contracts';
import { WorkerDatabase } from '@rmm/persistence';
import { currentContext } from '@rmm/service-kit';
import type { OutgoingAuditEntries, OutgoingAuditEntry } from '../outbox/outbox-message.js';
import { Outbox, type OutboxTransaction } from '../outbox/outbox.service.js';
import { oneLine, redactDetails } from './redact-details.js';

const MAX_NAME = 255;
const MAX_USER_AGENT = 512;
const MAX_MESSAGE = 1_000;

/** Entries of one message, and their characters as JSON; an entry may have more. */
const MAX_ENTRIES = 50;
const MAX_ENTRIES_LENGTH = 32 * 1024;

/** The caller an audit entry names; every `Caller` of @rmm/access is one. */
export interface AuditedCaller {
  actor: Actor;
  tenant: { partnerId: string | null; orgId: string | null };
}

/** The resource acted on. orgId and partnerId default to those of the caller. */
export interface AuditedResource {
  type: string;
  id?: string | null;
  name?: string | null;
  /** Null for a partner-level act. */
  orgId?: string | null;
  partnerId?: string | null;
}

/** Returns the resource of a row of an organization. */
export function resourceOf(type: string, row: Required<Omit<AuditedResource, 'type'>>): AuditedResource {
  const { id, name, orgId, partnerId } = row;
  return { type, id, name, orgId, partnerId };
}

export type AuditedChange = [
  caller: AuditedCaller,
  action: AuditAction,
  resource: AuditedResource,
  details?: Record<string, unknown>,
  result?: AuditResult,
  errorMessage?: string,
];

/** Sends audit entries to identity through the outbox of this service. @see docs/reference/audit.md */
@Injectable()
export class AuditTrail {
  constructor(
    private readonly outbox: Outbox,
    private readonly worker: WorkerDatabase,
  ) {}

  /** Writes the entry in the transaction of the audited change. Secrets are redacted from the details. */
  async record(tx: OutboxTransaction, ...entry: AuditedChange): Promise<void> {
    await this.outbox.publish(tx, this.toMessage(...entry));
  }

  /** Returns the message of an entry, to be published with others by one statement; redacted and cut like any entry. */
  toMessage(
    ...[caller, action, resource, details = {}, result = 'success', errorMessage]: AuditedChange
  ): OutgoingAuditEntry {
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
    if (context) context.audited = true;
    return { stream: 'audit', type: action, aggregateId, partnerId, orgId, actor: data.actor, data };
  }

  /** Yields the messages of many entries: one for up to 50 entries of a partner, or 32 K characters. */
  *toMessages(changes: Iterable<AuditedChange>): Generator<OutgoingAuditEntry | OutgoingAuditEntries> {
    let set: OutgoingAuditEntry[] = [];
    let length = 0;
    for (const change of changes) {
      const message = this.toMessage(...change);
      const added = JSON.stringify(message.data).length;
      const isFull = set.length === MAX_ENTRIES || length + added > MAX_ENTRIES_LENGTH;
      if (set.length > 0 && (isFull || set[0]?.partnerId !== message.partnerId)) {
        yield inOneMessage(set);
        [set, length] = [[], 0];
      }
      set.push(message);
      length += added;
    }
    if (set.length > 0) yield inOneMessage(set);
  }

  /** Writes the entry by itself, with one statement: for denials, failures and reads, which change nothing. */
  async recordDirect(...entry: AuditedChange): Promise<void> {
    const callbacks: (() => void)[] = [];
    const statement: OutboxTransaction = {
      query: (sql, params) => this.worker.query(sql, params),
      afterCommit: (callback) => callbacks.push(callback),
    };
    await this.outbox.publish(statement, this.toMessage(...entry));
    for (const callback of callbacks) callback();
  }
}

/** @param messages  at least one, all of the same partner */
function inOneMessage(messages: readonly OutgoingAuditEntry[]): OutgoingAuditEntry | OutgoingAuditEntries {
  const [first] = messages as [OutgoingAuditEntry];
  if (messages.length === 1) return first;
  const { stream, partnerId, actor } = first;
  const entries = messages.map(({ orgId, data }) => ({ id: randomUUID(), orgId, ...data }));
  return {
    stream,
    type: AUDIT_ENTRIES,
    aggregateId: partnerId ?? 'platform',
    partnerId,
    orgId: null,
    actor,
    data: { entries },
  };
}

const lineOf = (text: string | null | undefined, maxLength: number): string | null =>
  text === null || text === undefined ? null : oneLine(text, maxLength);
