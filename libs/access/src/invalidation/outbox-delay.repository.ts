import { Injectable, Optional } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

/** Reads only the first 1000 messages of the outbox: the delay shows there first, and the statement stays cheap. */
const FIND_DELAYED_BROADCAST = `
  SELECT 1 AS delayed
  FROM (SELECT subject, created_at FROM outbox ORDER BY seq LIMIT 1000) head
  WHERE subject LIKE 'rmm.broadcast.%' AND created_at < now() - INTERVAL '10 seconds'
  LIMIT 1`;

@Injectable()
export class OutboxDelayRepository {
  constructor(@Optional() private readonly worker?: WorkerDatabase) {}

  /** Returns false when a broadcast has been waiting in the outbox for ten seconds. */
  async areBroadcastsOnTime(): Promise<boolean> {
    if (!this.worker) return true;
    return (await this.worker.query(FIND_DELAYED_BROADCAST)).length === 0;
  }
}
