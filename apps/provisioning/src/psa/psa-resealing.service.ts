import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { PsaSealingService } from './psa-sealing.service.js';
import { PsaSecretsRepository, type SealedSecrets } from './psa-secrets.repository.js';

const BATCH = 200;

/**
 * Seals the secrets of connections again with the active key of SECRETS_KEYRING, in the background after each start. Once
 * it is done, older keys can be removed from the key ring. Replicas share the work.
 */
@Injectable()
export class PsaResealingService implements OnApplicationBootstrap, OnModuleDestroy {
  private running: Promise<void> = Promise.resolve();
  private stopping = false;

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly secrets: PsaSecretsRepository,
    private readonly sealing: PsaSealingService,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run().catch((err: unknown) =>
      this.logger.warn(
        { err },
        'resealing the secrets of PSA connections failed; older keys are still needed, and the next start tries again',
      ),
    );
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  async run(): Promise<void> {
    let unopened = 0;
    let after: string | null = null;
    while (!this.stopping) {
      const { locked, opened } = await this.resealBatch(after);
      unopened += locked.length - opened;
      after = locked.at(-1)?.id ?? null;
      if (locked.length < BATCH) break;
    }
    if (unopened === 0) return;
    this.logger.error(
      { unopened },
      'secrets of PSA connections cannot be opened by any key of SECRETS_KEYRING; they stay as they are',
    );
  }

  private resealBatch(after: string | null): Promise<{ locked: SealedSecrets[]; opened: number }> {
    return this.worker.transaction(async (tx) => {
      const locked = await this.secrets.lockOutdated(tx, this.sealing.activeKid, after, BATCH);
      const resealed = locked.flatMap(({ id, sealed }) => {
        const text = this.sealing.reseal(id, sealed);
        return text === null ? [] : [{ id, sealed: text }];
      });
      if (resealed.length > 0) await this.secrets.replace(tx, resealed);
      return { locked, opened: resealed.length };
    });
  }
}
