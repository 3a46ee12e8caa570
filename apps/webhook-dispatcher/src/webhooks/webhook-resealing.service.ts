import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import {
  SEALED_TABLES,
  type SealedTable,
  type SealedTexts,
  SealedWebhooksRepository,
} from './sealed-webhooks.repository.js';
import { WebhookSealingService } from './webhook-sealing.service.js';

const BATCH = 200;

/**
 * Seals the URLs, secrets and headers of webhooks again with the active key of SECRETS_KEYRING, in the background after
 * each start. Once it is done, older keys can be removed from the key ring. Replicas share the work.
 */
@Injectable()
export class WebhookResealingService implements OnApplicationBootstrap, OnModuleDestroy {
  private running: Promise<void> = Promise.resolve();
  private isStopping = false;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: SealedWebhooksRepository,
    private readonly sealing: WebhookSealingService,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run().catch((err: unknown) =>
      this.logger.warn(
        { err },
        'resealing webhooks failed; older keys are still needed, and the next start tries again',
      ),
    );
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.running;
  }

  async run(): Promise<void> {
    for (const table of SEALED_TABLES) {
      const unopened = await this.resealAll(table);
      if (unopened === 0) continue;
      this.logger.error(
        { table, unopened },
        'sealed values cannot be opened by any key of SECRETS_KEYRING; they stay as they are',
      );
    }
  }

  /** @returns how many rows have texts that no key of the ring opens */
  private async resealAll(table: SealedTable): Promise<number> {
    let unopened = 0;
    for (let after: string | null = null, isLeft = true; isLeft && !this.isStopping;) {
      const batch: { unopened: number; ids: string[] } = await this.resealBatch(table, after);
      unopened += batch.unopened;
      after = batch.ids.at(-1) ?? null;
      isLeft = batch.ids.length === BATCH;
    }
    return unopened;
  }

  private resealBatch(table: SealedTable, after: string | null): Promise<{ unopened: number; ids: string[] }> {
    return this.worker.transaction(async (tx) => {
      const locked = await this.repository.lockOutdated(tx, table, this.sealing.activeKid, after, BATCH);
      let unopened = 0;
      const resealed = locked.map((row) => {
        const { isComplete, ...texts } = this.sealing.reseal(row);
        if (!isComplete) unopened += 1;
        return texts;
      });
      if (resealed.length > 0) await this.repository.replace(tx, table, resealed);
      return { unopened, ids: locked.map(({ id }: SealedTexts) => id) };
    });
  }
}
