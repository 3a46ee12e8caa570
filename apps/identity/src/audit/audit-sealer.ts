import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { subjects, type AuditEntry, type Envelope } from '@rmm/contracts';
import { EventBatches, type BatchMessage } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { EMPTY_CHAIN, sealRows, type AuditRow, type SealedAuditRow } from './audit-chain.js';
import { AuditRepository, PLATFORM_CHAIN } from './audit.repository.js';

const MAX_BATCH = 200;
const LINGER_MS = 50;

/** Takes the audit rows of every service in sets and seals them into their partners' chains, in order of arrival. */
@Injectable()
export class AuditSealer implements OnApplicationBootstrap {
  constructor(
    private readonly batches: EventBatches,
    private readonly worker: WorkerDatabase,
    private readonly repository: AuditRepository,
  ) {}

  onApplicationBootstrap(): void {
    this.batches.subscribeBatch(
      {
        stream: 'audit',
        durable: 'identity-audit',
        subjects: [subjects.audit('*')],
        maxMessages: MAX_BATCH,
        lingerMs: LINGER_MS,
      },
      (batch) => this.take(batch),
    );
  }

  /** One transaction for all rows of a batch; a row that is no audit row is put aside and holds nobody up. */
  private async take(batch: BatchMessage[]): Promise<void> {
    const rows: Omit<AuditRow, 'sequence'>[] = [];
    for (const message of batch) {
      if (isAuditEnvelope(message.envelope)) rows.push(toRow(message.envelope));
      else message.term('not an audit row');
    }
    await this.seal(rows);
  }

  /** Idempotent by (id, timestamp): a message that comes again changes nothing. */
  async seal(rows: readonly Omit<AuditRow, 'sequence'>[]): Promise<void> {
    if (rows.length === 0) return;
    await this.worker.run(async (tx) => {
      const heads = await this.repository.lockHeads(tx, rows.map(chainOf));
      const fresh = withoutRepeats(rows, await this.repository.existing(tx, rows));
      const sealed: SealedAuditRow[] = [];
      for (const [chain, members] of groupByChain(fresh)) {
        const result = sealRows(heads.get(chain) ?? EMPTY_CHAIN, members);
        sealed.push(...result.sealed);
        heads.set(chain, result.head);
      }
      await this.repository.insert(tx, sealed);
      await this.repository.moveHeads(tx, heads);
    });
  }
}

const chainOf = (row: { partnerId: string | null }): string => row.partnerId ?? PLATFORM_CHAIN;

function groupByChain<T extends { partnerId: string | null }>(rows: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(chainOf(row), [...(groups.get(chainOf(row)) ?? []), row]);
  return groups;
}

function withoutRepeats<T extends { id: string }>(rows: readonly T[], known: Set<string>): T[] {
  const seen = new Set(known);
  return rows.filter(({ id }) => !seen.has(id) && seen.add(id));
}

function isAuditEnvelope(envelope: Envelope): envelope is Envelope<AuditEntry> {
  const data = envelope.data as Partial<AuditEntry> | null;
  return (
    typeof data?.action === 'string' && typeof data.resourceType === 'string' && typeof data.actor?.type === 'string'
  );
}

const toRow = ({ id, partnerId, orgId, timestamp, data }: Envelope<AuditEntry>): Omit<AuditRow, 'sequence'> => ({
  id,
  partnerId,
  orgId,
  timestamp,
  actorType: data.actor.type,
  actorId: data.actor.id,
  actorEmail: data.actor.email ?? null,
  action: data.action,
  resourceType: data.resourceType,
  resourceId: data.resourceId,
  resourceName: data.resourceName,
  details: data.details,
  ipAddress: data.ipAddress,
  userAgent: data.userAgent,
  result: data.result,
  errorMessage: data.errorMessage,
  initiatedBy: data.initiatedBy,
  requestId: data.requestId,
});
