import { Injectable } from '@nestjs/common';
import { DomainError, Logger, UnavailableError } from '@rmm/service-kit';
import { AgentsRepository, type AgentHeartbeat } from './agents.repository.js';

/** Heartbeats of one statement. */
const BATCH = 250;
/** Statements at a time: the worker login has few connections, which the relay and the consumers use too. */
const MAX_RUNNING = 1;
/** Beyond it heartbeats are refused: the database is slower than they arrive, and memory is finite. */
const MAX_WAITING = 10_000;

/** A heartbeat that was stored with its set. */
export interface UnchangedHeartbeat {
  /** True when commands may wait for the agent. */
  hasCommands: boolean;
}

interface Waiting {
  heartbeat: AgentHeartbeat;
  settle: { resolve: (stored: UnchangedHeartbeat | null) => void; reject: (error: unknown) => void }[];
}

/**
 * Stores heartbeats in sets. A heartbeat that arrives while a set is written waits for the next one; there is no other
 * delay, and each gets its response once its set is committed.
 */
@Injectable()
export class HeartbeatWriter {
  /** By device, in the order of arrival: of two heartbeats of one device the later is stored. */
  private readonly waiting = new Map<string, Waiting>();
  private running = 0;

  constructor(
    private readonly agents: AgentsRepository,
    private readonly logger: Logger,
  ) {}

  /**
   * Stores the heartbeat of a device whose status and versions stay as they are.
   * @returns null when nothing is stored: the heartbeat changes status or version, or the device is locked or gone
   * @throws UnavailableError
   */
  storeUnchanged(heartbeat: AgentHeartbeat): Promise<UnchangedHeartbeat | null> {
    if (this.waiting.size >= MAX_WAITING) throw new UnavailableError('Too many heartbeats are waiting');
    return new Promise((resolve, reject) => {
      const settle = this.waiting.get(heartbeat.deviceId)?.settle ?? [];
      settle.push({ resolve, reject });
      this.waiting.set(heartbeat.deviceId, { heartbeat, settle });
      // Heartbeats of the same turn of the event loop share a set.
      if (this.running < MAX_RUNNING && this.waiting.size === 1) setImmediate(() => void this.writeWaiting());
    });
  }

  private async writeWaiting(): Promise<void> {
    if (this.running >= MAX_RUNNING) return;
    this.running += 1;
    try {
      while (this.waiting.size > 0) await this.write(this.takeBatch());
    } finally {
      this.running -= 1;
    }
  }

  private takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    for (const [deviceId, waiting] of this.waiting) {
      this.waiting.delete(deviceId);
      batch.push(waiting);
      if (batch.length === BATCH) break;
    }
    return batch;
  }

  /** An error other than an outage may be due to one heartbeat: each of them is then stored on its own by the caller. */
  private async write(batch: Waiting[]): Promise<void> {
    const isOutage = (error: unknown) => error instanceof DomainError;
    try {
      const stored = await this.agents.storeUnchanged(batch.map(({ heartbeat }) => heartbeat));
      for (const { heartbeat, settle } of batch) {
        const hasCommands = stored.get(heartbeat.deviceId);
        for (const { resolve } of settle) resolve(hasCommands === undefined ? null : { hasCommands });
      }
    } catch (err) {
      if (!isOutage(err))
        this.logger.warn({ err, heartbeats: batch.length }, 'heartbeats not stored as a set; stored one by one');
      for (const { resolve, reject } of batch.flatMap(({ settle }) => settle)) {
        if (isOutage(err)) reject(err);
        else resolve(null);
      }
    }
  }
}
