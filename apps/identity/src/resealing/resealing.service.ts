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
 * Seals again, after each start and in the background, what an older key of SECRETS_KEYRING sealed: once it is done,
 * that key can leave the ring. Replicas share the work.
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
    this.running = this.run().catch((err: unknown) => this.logger.warn({ err }, 'Not everything was sealed again'));
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  async run(): Promise<void> {
    for (const column of SEALED_COLUMNS) {
      const unopened = await this.resealAll(column);
      const { table } = column;
      if (unopened > 0) this.logger.error({ table, unopened }, 'No key of SECRETS_KEYRING opens these sealed values');
    }
  }

  /** @returns how many no key of the ring opens: they stay as they are */
  private async resealAll(column: SealedColumn): Promise<number> {
    let unopened = 0;
    let after: string | null = null;
    while (!this.stopping) {
      const { held, opened } = await this.resealSome(column, after);
      unopened += held.length - opened;
      after = held.at(-1)?.id ?? null;
      if (held.length < BATCH) break;
    }
    return unopened;
  }

  private resealSome(column: SealedColumn, after: string | null): Promise<{ held: SealedText[]; opened: number }> {
    return this.worker.transaction(async (tx) => {
      const held = await this.repository.hold(tx, column, this.keyRing.activeKid, after, BATCH);
      const resealed = held.flatMap((text) => this.reseal(column, text) ?? []);
      if (resealed.length > 0) await this.repository.replace(tx, column, resealed);
      return { held, opened: resealed.length };
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
