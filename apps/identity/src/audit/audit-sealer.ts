import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { subjects } from '@rmm/contracts';
import { EventBatches, type BatchMessage } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';
import { EMPTY_CHAIN, sealRows, type AuditRow, type SealedAuditRow } from './audit-chain.js';
import { rowOf } from './audit-message.js';
import { AuditRepository, PLATFORM_CHAIN } from './audit.repository.js';

type UnsealedRow = Omit<AuditRow, 'sequence'>;

const MAX_BATCH = 200;
const LINGER_MS = 200; // rows that come together cost the chain one transaction

/** Takes the audit rows of every service in sets and seals them into their partners' chains, in order of arrival. */
@Injectable()
export class AuditSealer implements OnApplicationBootstrap {
  constructor(
    private readonly batches: EventBatches,
    private readonly worker: WorkerDatabase,
    private readonly repository: AuditRepository,
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
      (batch) => this.take(batch),
    );
  }

  /**
   * One transaction for all rows of a batch. What is no audit row is put aside; should a row still be refused by the
   * database, the others of its batch go on without it.
   */
  private async take(batch: BatchMessage[]): Promise<void> {
    const readable: { message: BatchMessage; row: UnsealedRow }[] = [];
    for (const message of batch) {
      const row = rowOf(message.envelope);
      if (row) readable.push({ message, row });
      else message.term('not an audit row');
    }
    try {
      await this.seal(readable.map(({ row }) => row));
    } catch (error) {
      if (error instanceof UnavailableError || readable.length === 1) throw error;
      for (const { message, row } of readable) await this.seal([row]).catch((each: unknown) => message.nak(each));
    }
  }

  /** Idempotent by (id, timestamp): a message that comes again changes nothing. */
  async seal(rows: readonly UnsealedRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.worker.transaction(async (tx) => {
      const heads = await this.repository.lockHeads(tx, rows.map(parentChain));
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

const parentChain = (row: { partnerId: string | null }): string => row.partnerId ?? PLATFORM_CHAIN;

function groupByChain<T extends { partnerId: string | null }>(rows: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(parentChain(row), [...(groups.get(parentChain(row)) ?? []), row]);
  return groups;
}

function withoutRepeats<T extends { id: string }>(rows: readonly T[], known: Set<string>): T[] {
  const seen = new Set(known);
  return rows.filter(({ id }) => !seen.has(id) && seen.add(id));
}
