import type { WorkerDatabase } from '@rmm/persistence';

/**
 * Do invalidations leave the outbox in time? The head of the queue is looked at, not all of it.
 * @returns false when a broadcast has waited for ten seconds: a heartbeat would then promise too much
 */
export async function broadcastsFlow(worker: Pick<WorkerDatabase, 'query'>): Promise<boolean> {
  const waiting = await worker.query(`
    select 1 as waiting
    from (select subject, created_at from outbox order by seq limit 1000) head
    where subject like 'rmm.broadcast.%' and created_at < now() - interval '10 seconds'
    limit 1`);
  return waiting.length === 0;
}
