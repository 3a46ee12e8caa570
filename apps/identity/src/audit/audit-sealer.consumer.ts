import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { subjects } from '@rmm/contracts';
import { EventBatches, type BatchMessage } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';
import { EMPTY_CHAIN, sealRows, type AuditRow, type SealedAuditRow } from './audit-chain.js';
import { AuditEntriesRepository, PLATFORM_CHAIN } from './audit-entries.repository.js';
import { AuditNamesService } from './audit-names.service.js';
import { toAuditRows } from './audit-row.mapper.js';

type UnsealedRow = Omit<AuditRow, 'sequence'>;

interface ReceivedRow {
  message: BatchMessage;
  row: UnsealedRow;
}

const MAX_BATCH = 200; // messages; an import has up to 50 entries in one
const MIN_SEALED = 200; // entries of one transaction, unless the batch has fewer
const LINGER_MS = 200; // entries that arrive together cost the chain one transaction

/** Seals the audit entries of every service into the chains of their partners, in batches and in order of arrival. */
@Injectable()
export class AuditSealer implements OnApplicationBootstrap {
  constructor(
    private readonly batches: EventBatches,
    private readonly worker: WorkerDatabase,
    private readonly repository: AuditEntriesRepository,
    private readonly names: AuditNamesService,
  ) {}

  onApplicationBootstrap(): void {
    this.batches.subscribe(
      {
        stream: 'audit',
        durable: 'identity-audit',
        subjects: [subjects.audit('*')],
        maxMessages: MAX_BATCH,
        lingerMs: LINGER_MS,
      },
      (batch) => this.handle(batch),
    );
  }

  /**
   * Seals a batch, about 200 entries in each transaction. Messages with something that is no audit entry are rejected once
   * their other entries are sealed.
   */
  private async handle(batch: BatchMessage[]): Promise<void> {
    const rejected: [message: BatchMessage, unreadable: number][] = [];
    let received: ReceivedRow[] = [];
    for (const message of batch) {
      const { rows, unreadable } = toAuditRows(message.envelope);
      if (unreadable > 0) rejected.push([message, unreadable]);
      received.push(...rows.map((row) => ({ message, row })));
      if (received.length < MIN_SEALED) continue;
      await this.sealReceived(received);
      received = [];
    }
    await this.sealReceived(received);
    for (const [message, unreadable] of rejected) message.term(`not an audit row: ${unreadable} of its entries`);
  }

  /** Seals entries in one transaction; when the database refuses one of them, the others without it. */
  private async sealReceived(received: readonly ReceivedRow[]): Promise<void> {
    try {
      await this.seal(received.map(({ row }) => row));
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      for (const { message, row } of received) await this.seal([row]).catch((each: unknown) => message.nak(each));
    }
  }

  /** Seals entries. Idempotent by (id, timestamp): a redelivered message changes nothing. */
  async seal(rows: readonly UnsealedRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.worker.transaction(async (tx) => {
      const heads = await this.repository.lockHeads(tx, rows.map(chainOf));
      // Under the lock of the chain: an erasure waits for names that are being stored.
      const fresh = withoutRepeats(rows, await this.repository.listExistingIds(tx, rows));
      const sealed: SealedAuditRow[] = [];
      for (const [chain, members] of groupByChain(await this.names.replace(tx, fresh))) {
        const result = sealRows(heads.get(chain) ?? EMPTY_CHAIN, members);
        sealed.push(...result.sealed);
        heads.set(chain, result.head);
      }
      await this.repository.insert(tx, sealed);
      await this.repository.updateHeads(tx, heads);
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
