import { type AccessHeartbeat } from '@rmm/contracts';
import type { Broadcasts } from '@rmm/messaging';
import { randomUUID } from 'node:crypto';

export const HEARTBEAT_INTERVAL_MS = 1_000;
export const CREDENTIAL_HEARTBEAT = 'credential.heartbeat';

/**
 * Sends the numbered heartbeats of one invalidation broadcast. Numbers count up also while NATS is away, so that
 * listeners see the hole; and a heart that cannot vouch for its invalidations does not beat.
 */
export class HeartbeatPublisher {
  private readonly publisher = randomUUID();
  private sequence = 0;
  private timer?: NodeJS.Timeout;
  private beating?: Promise<void>;

  /**
   * @param mayBeat  false while invalidations are known to be held up: listeners then refuse rather than trust
   */
  constructor(
    private readonly broadcasts: Pick<Broadcasts, 'publishNow'>,
    private readonly topic: 'access.heartbeat' | 'credential.heartbeat',
    private readonly mayBeat: () => Promise<boolean> = () => Promise.resolve(true),
  ) {}

  start(): void {
    this.timer ??= setInterval(() => void this.beat(), HEARTBEAT_INTERVAL_MS).unref();
    void this.beat();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Leaves a hole in the numbers: something may have been lost on our side, so everybody is to start afresh. */
  skip(): void {
    this.sequence += 1;
  }

  /** One beat; while one is still waiting to know whether it may, no other begins. */
  beat(): Promise<void> {
    this.beating ??= this.beatNow().finally(() => (this.beating = undefined));
    return this.beating;
  }

  private async beatNow(): Promise<void> {
    const sequence = ++this.sequence;
    if (!(await this.mayBeat().catch(() => false))) return;
    const heartbeat: AccessHeartbeat = { publisher: this.publisher, sequence, intervalMs: HEARTBEAT_INTERVAL_MS };
    this.broadcasts.publishNow(this.topic, heartbeat);
  }
}

/** Identity's heart: beats beside `access.changed`. */
export class AccessFeed extends HeartbeatPublisher {
  constructor(broadcasts: Pick<Broadcasts, 'publishNow'>, mayBeat?: () => Promise<boolean>) {
    super(broadcasts, 'access.heartbeat', mayBeat);
  }
}

/** The heart of credentials: beats beside `credential.changed`. */
export class CredentialFeed extends HeartbeatPublisher {
  constructor(broadcasts: Pick<Broadcasts, 'publishNow'>, mayBeat?: () => Promise<boolean>) {
    super(broadcasts, CREDENTIAL_HEARTBEAT, mayBeat);
  }
}
