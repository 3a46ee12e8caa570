import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

/** Finds deliveries that a former delivery of an event has stored. */
@Injectable()
export class KnownDeliveriesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @returns those of the ids that are stored */
  async find(ids: readonly string[], createdAt: Date): Promise<ReadonlySet<string>> {
    const rows = await this.worker.query<{ id: string }>(
      'SELECT id FROM delivery WHERE id = ANY(:ids::uuid[]) AND created_at = :createdAt',
      { ids, createdAt: createdAt.toISOString() },
    );
    return new Set(rows.map(({ id }) => id));
  }
}
