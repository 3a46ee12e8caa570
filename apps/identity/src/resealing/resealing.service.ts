import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing, UnsealFailed } from '@rmm/secrets';
import { Logger } from '@rmm/service-kit';
import {
  SEALED_COLUMNS,
  SealedColumnsRepository,
  type SealedColumn,
  type SealedText,
} from './sealed-columns.repository.js';

const BATCH = 200;

/**
 * Seals values again with the active key of SECRETS_KEYRING, in the background after each start. Once it is done, older
 * keys can be removed from the key ring. Replicas share the work.
 */
@Injectable()
export class ResealingService implements OnApplicationBootstrap, OnModuleDestroy {
  private running: Promise<void> = Promise.resolve();
  private stopping = false;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: SealedColumnsRepository,
    private readonly keyRing: KeyRing,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run().catch((err: unknown) =>
      this.logger.warn({ err }, 'resealing failed; older keys are still needed, and the next start tries again'),
    );
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  async run(): Promise<void> {
    for (const column of SEALED_COLUMNS) {
      const unopened = await this.resealAll(column);
      const { table } = column;
      if (unopened > 0)
        this.logger.error(
          { table, unopened },
          'sealed values cannot be opened by any key of SECRETS_KEYRING; they stay as they are',
        );
    }
  }

  /** @returns how many values no key of the ring opens; they stay as they are */
  private async resealAll(column: SealedColumn): Promise<number> {
    let unopened = 0;
    let after: string | null = null;
    while (!this.stopping) {
      const { locked, opened } = await this.resealBatch(column, after);
      unopened += locked.length - opened;
      after = locked.at(-1)?.id ?? null;
      if (locked.length < BATCH) break;
    }
    return unopened;
  }

  private resealBatch(column: SealedColumn, after: string | null): Promise<{ locked: SealedText[]; opened: number }> {
    return this.worker.transaction(async (tx) => {
      const locked = await this.repository.lockOutdated(tx, column, this.keyRing.activeKid, after, BATCH);
      const resealed = locked.flatMap((text) => this.reseal(column, text) ?? []);
      if (resealed.length > 0) await this.repository.replace(tx, column, resealed);
      return { locked, opened: resealed.length };
    });
  }

  private reseal({ contextOf }: SealedColumn, { id, sealed }: SealedText): SealedText | null {
    try {
      const context = contextOf(id);
      return { id, sealed: this.keyRing.seal(this.keyRing.open(sealed, context), context) };
    } catch (error) {
      if (error instanceof UnsealFailed) return null;
      throw error;
    }
  }
}
