import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSession } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { type PartitionOwner, PartitionLeasesRepository, type ReplicaState } from './partition-leases.repository.js';
import { PARTITIONS } from './partition-of.js';
import { ReplicaSignalsService } from './replica-signals.service.js';

const TICK_MS = 1_000;
const RECONNECT_MS = 250;
/** A replica whose session has been missing for this long is dead; its own reconnect takes less. */
const MISSING_MS = 2_000;
/** The same for a replica that NATS does not reach either: the connections of a process end together when it dies. */
const UNREACHABLE_MS = 250;
/** A replica that sent no heartbeat for this long is dead although its session exists: a frozen or cut off process. */
const SILENT_SECONDS = 15;
/** After a (re)connect, the time before other replicas may be declared dead: they reconnect as well. */
const SETTLE_MS = 5_000;
/** The age of the last heartbeat up to which this replica sends; less than `SILENT_SECONDS`. */
const SENDING_MS = 10_000;

export interface PartitionListener {
  onAcquired(partitions: ReadonlySet<number>): void;
  /** Called before partitions are given to another replica. Resolves when nothing of them is left in memory. */
  handOver(partitions: ReadonlySet<number>): Promise<void>;
  /** Another replica owns these already. */
  onLost(partitions: ReadonlySet<number>): void;
  /** Attempts may start again. */
  onResumed(): void;
  /** Called with the number of replicas that share the partitions. */
  onReplicasChanged(count: number): void;
}

/** The session of another replica, as far as this one has seen it. */
interface SeenSession {
  /** A replica that has just registered has no session yet, and does not receive events. */
  wasOpen: boolean;
  missingSinceMs: number | null;
}

/**
 * Leases partitions to this replica, evenly among all that run, and knows the owner of each.
 *
 * A session of the database keeps an advisory lock for each replica, so the others see within a second or two that a process
 * has died. Partitions move by `epoch`: outcomes that name an old one are refused.
 */
@Injectable()
export class PartitionLeaseManagerService {
  readonly replicaId: string = randomUUID();
  private session: DatabaseSession | null = null;
  private isSessionLocked = false;
  private connectedMs = 0;
  private heartbeatMs = -Infinity;
  private lookedMs = -Infinity;
  private readonly epochs = new Map<number, number>();
  private readonly handingOver = new Set<number>();
  private owners: (string | null)[] = Array<string | null>(PARTITIONS).fill(null);
  private sessions = new Map<string, SeenSession>();
  private listener: PartitionListener | null = null;
  private readonly onEnded: ((replicaId: string) => void)[] = [];
  private replicaCount = 1;
  private isLeaving = false;
  private isStopped = false;
  private wake: () => void = () => undefined;
  private running: Promise<void> = Promise.resolve();
  private handOvers: Promise<void> = Promise.resolve();

  constructor(
    private readonly repository: PartitionLeasesRepository,
    private readonly signals: ReplicaSignalsService,
    private readonly logger: Logger,
  ) {}

  /** The number of partitions this replica owns. */
  get count(): number {
    return this.epochs.size;
  }

  /** False while another replica may take the partitions of this one over. */
  get canSend(): boolean {
    return this.session?.isLost === false && performance.now() - this.heartbeatMs < SENDING_MS;
  }

  /** True for partitions of this replica that it is not handing over. */
  owns(partition: number): boolean {
    return this.epochs.has(partition) && !this.handingOver.has(partition);
  }

  /** Returns the epoch of a partition while this replica has it; -1 otherwise, which no outcome is accepted with. */
  epochOf(partition: number): number {
    return this.epochs.get(partition) ?? -1;
  }

  /** Returns the replica that owns a partition, as far as this one knows. */
  ownerOf(partition: number): string | null {
    return this.owns(partition) ? this.replicaId : (this.owners[partition] ?? null);
  }

  /** Looks for replicas that died, at most four times a second, also without a database: events could not be passed to one. */
  lookForDead(): void {
    if (performance.now() - this.lookedMs >= UNREACHABLE_MS) this.wake();
  }

  /** Calls `handle` once another replica owns nothing anymore: it died, or has handed everything over. */
  onReplicaEnded(handle: (replicaId: string) => void): void {
    this.onEnded.push(handle);
  }

  /** Resolves after the first claim. @throws DatabaseConnectionLost */
  async start(listener: PartitionListener): Promise<void> {
    this.listener = listener;
    this.signals.onPartitionsChanged(() => this.wake());
    await this.tick();
    this.signals.publishPartitionsChanged();
    this.running = this.run();
  }

  /** Forgets partitions that the database says have another owner. */
  drop(partitions: readonly number[]): void {
    this.lose(partitions.filter((partition) => this.epochs.has(partition)));
    this.wake();
  }

  /** Hands all partitions over; others own them when it resolves, or may claim them. */
  async handOverAll(): Promise<void> {
    this.isLeaving = true;
    if (this.session) await this.repository.setLeaving(this.session, this.replicaId).catch(() => undefined);
    await this.handOvers;
    await this.giveAway([...this.epochs.keys()]);
  }

  /** Ends the session; others take over what is left. Waits for a heartbeat in progress, which would register this replica again. */
  async stop(): Promise<void> {
    const wasRunning = !this.isStopped;
    this.isStopped = true;
    this.wake();
    await Promise.race([this.running, sleep(TICK_MS, undefined, { ref: false })]);
    if (this.session && wasRunning) {
      await this.repository.unregister(this.session, this.replicaId).catch(() => undefined);
      this.signals.publishPartitionsChanged();
    }
    await this.abandon();
  }

  /** Ends the session and releases nothing, as a killed process. */
  async abandon(): Promise<void> {
    this.isStopped = true;
    this.wake();
    await this.session?.close();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      await this.pause(this.pauseMs());
      if (this.isStopped) return;
      try {
        await this.tick();
      } catch (err) {
        this.logger.warn({ err }, 'partition leases were not renewed; sending stops until they are');
      }
    }
  }

  private pauseMs(): number {
    if (!this.session || this.session.isLost) return RECONNECT_MS;
    const isOneMissing = [...this.sessions.values()].some(({ missingSinceMs }) => missingSinceMs !== null);
    return isOneMissing ? UNREACHABLE_MS : TICK_MS;
  }

  private async pause(ms: number): Promise<void> {
    const woken = new AbortController();
    this.wake = () => woken.abort();
    await sleep(ms, undefined, { ref: false, signal: woken.signal }).catch(() => undefined);
  }

  private async tick(): Promise<void> {
    this.lookedMs = performance.now();
    const session = await this.connect();
    const wasSending = this.canSend;
    const askedMs = performance.now();
    if (!(await this.repository.heartbeat(session, this.replicaId))) await this.registerAgain(session);
    if (!this.isSessionLocked) this.isSessionLocked = await this.repository.lockSession(session, this.replicaId);
    this.heartbeatMs = askedMs;
    const replicas = await this.repository.listReplicas(session);
    await this.removeDead(session, replicas);
    if (!this.isLeaving) await this.balance(session, replicas);
    this.readOwners(await this.repository.listOwners(session));
    if (!wasSending) this.listener?.onResumed();
  }

  private async connect(): Promise<DatabaseSession> {
    if (this.session && !this.session.isLost) return this.session;
    await this.session?.close();
    this.session = await this.repository.openSession();
    this.isSessionLocked = false;
    this.connectedMs = performance.now();
    this.sessions.clear();
    await this.repository.register(this.session, this.replicaId);
    return this.session;
  }

  /** Registers again, since the others have declared this replica dead; its partitions get new epochs. */
  private async registerAgain(session: DatabaseSession): Promise<void> {
    this.logger.warn({ replicaId: this.replicaId }, 'replica was declared dead; it claims partitions again');
    this.lose([...this.epochs.keys()]);
    this.isSessionLocked = false;
    await this.repository.register(session, this.replicaId);
  }

  private async removeDead(session: DatabaseSession, replicas: ReplicaState[]): Promise<void> {
    const now = performance.now();
    const others = replicas.filter(({ id }) => id !== this.replicaId);
    this.sessions = new Map(others.map((replica) => [replica.id, this.watch(replica, now)]));
    if (now - this.connectedMs < SETTLE_MS) return;
    const areDead = await Promise.all(others.map((replica) => this.isDead(replica, now)));
    const dead = others.filter((_, i) => areDead[i]);
    if (dead.length === 0) return;
    const ids = dead.map(({ id }) => id);
    this.logger.warn({ replicas: ids }, 'replicas died; their partitions get new owners');
    await this.repository.remove(session, ids);
    for (const replica of dead) {
      replicas.splice(replicas.indexOf(replica), 1);
      this.sessions.delete(replica.id);
    }
    this.signals.publishPartitionsChanged();
  }

  private watch({ id, hasSession }: ReplicaState, now: number): SeenSession {
    const seen = this.sessions.get(id);
    if (hasSession) return { wasOpen: true, missingSinceMs: null };
    return { wasOpen: seen?.wasOpen ?? false, missingSinceMs: seen?.missingSinceMs ?? now };
  }

  private async isDead({ id, heartbeatAge }: ReplicaState, now: number): Promise<boolean> {
    if (heartbeatAge > SILENT_SECONDS) return true;
    const seen = this.sessions.get(id);
    if (!seen || seen.missingSinceMs === null) return false;
    const missingMs = now - seen.missingSinceMs;
    if (missingMs >= MISSING_MS) return true;
    return seen.wasOpen && missingMs >= UNREACHABLE_MS && !(await this.signals.isReceiving(id));
  }

  /** Claims what is free up to a fair share, and gives away what exceeds it. */
  private async balance(session: DatabaseSession, replicas: readonly ReplicaState[]): Promise<void> {
    const running = replicas.filter(({ isLeaving }) => !isLeaving).length;
    const count = Math.max(1, running);
    if (count !== this.replicaCount) this.listener?.onReplicasChanged((this.replicaCount = count));
    const share = Math.ceil(PARTITIONS / count);
    const excess = this.epochs.size - share;
    if (excess < 0) {
      const claimed = await this.repository.claim(session, this.replicaId, -excess);
      if (claimed > 0) this.signals.publishPartitionsChanged();
    } else if (excess > 0 && this.handingOver.size === 0) {
      const given = [...this.epochs.keys()].slice(-excess);
      this.handOvers = this.giveAway(given).catch((err: unknown) =>
        this.logger.warn({ err }, 'handing partitions over failed; they stay here until the next attempt'),
      );
    }
  }

  private async giveAway(partitions: readonly number[]): Promise<void> {
    if (partitions.length === 0) return;
    for (const partition of partitions) this.handingOver.add(partition);
    try {
      await this.listener?.handOver(new Set(partitions));
      if (!this.session) return;
      await this.repository.release(this.session, this.replicaId, partitions);
      for (const partition of partitions) {
        this.epochs.delete(partition);
        this.owners[partition] = null;
      }
      this.signals.publishPartitionsChanged();
    } finally {
      for (const partition of partitions) this.handingOver.delete(partition);
      const kept = partitions.filter((partition) => this.epochs.has(partition));
      if (kept.length > 0 && !this.isLeaving) this.listener?.onAcquired(new Set(kept));
    }
  }

  private readOwners(rows: readonly PartitionOwner[]): void {
    const acquired = new Set<number>();
    const lost: number[] = [];
    const former = new Set(this.owners);
    for (const { partition, owner, epoch } of rows) {
      this.owners[partition] = owner === this.replicaId ? null : owner;
      const known = this.epochs.get(partition);
      if (owner !== this.replicaId) {
        if (known !== undefined) lost.push(partition);
      } else if (known !== epoch && !this.handingOver.has(partition)) {
        if (known !== undefined) lost.push(partition);
        acquired.add(partition);
      }
    }
    const current = new Set(this.owners);
    for (const id of former) if (id !== null && !current.has(id)) for (const handle of this.onEnded) handle(id);
    this.lose(lost);
    for (const { partition, epoch } of rows) if (acquired.has(partition)) this.epochs.set(partition, epoch);
    if (acquired.size > 0) this.listener?.onAcquired(acquired);
  }

  private lose(partitions: readonly number[]): void {
    if (partitions.length === 0) return;
    for (const partition of partitions) this.epochs.delete(partition);
    this.logger.warn({ partitions: partitions.length }, 'partitions were lost to other replicas');
    this.listener?.onLost(new Set(partitions));
  }
}
