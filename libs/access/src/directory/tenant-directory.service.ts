import type { Envelope } from '@rmm/contracts';
import { MessageRejected } from '@rmm/messaging';
import type { WorkerDatabase, WorkerTransaction } from '@rmm/persistence';
import { UnavailableError } from '@rmm/service-kit';
import { isUuid } from '@rmm/validation';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import type { InvalidationFeed } from '../invalidation/invalidation-feed.js';
import type { DirectoryTools } from './directory-tools.service.js';
import type { DirectoryName } from './directory.metrics.js';
import type { ReadState } from './read-state.js';
import {
  type TenantDirectoryRepository,
  UNKNOWN,
  type UnreadableChange,
  type WrittenRow,
} from './tenant-directory.repository.js';

/** A page of the owner's list, ordered by id. */
export interface OwnerPage {
  states: readonly unknown[];
  /** The id of the last one; null on the last page. */
  next: string | null;
}

/** The state of a tenant in an event, as it was received. */
export interface TenantChange {
  /** The id of the tenant as far as the event names it; null when it does not. */
  named: string | null;
  data: unknown;
}

/** Differences between the kinds of tenants. */
export interface DirectoryParts<Entry extends { status: string }> {
  name: DirectoryName;
  repository: TenantDirectoryRepository<Entry>;
  idOf: (entry: Entry) => string;
  /** Reads a message of the owner; null when what decides about access cannot be read. */
  read: (data: unknown) => ReadState<Entry> | null;
  /** Returns the entry with the strictest value in each field that does not decide about access. */
  strictest: (entry: Entry) => Entry;
  /** Asks the owner for tenants. */
  get: (ids: readonly string[]) => Promise<readonly unknown[]>;
  list: (after: string | null, limit: number) => Promise<OwnerPage>;
  /** Notified in the transaction that changes stored rows. */
  onStored: (tx: WorkerTransaction, ids: readonly string[]) => Promise<void>;
  /** Undefined in the service that owns the tenants. */
  feed: Pick<InvalidationFeed, 'assertAlive'> | undefined;
  /** Undefined where the service has no table: every look-up goes to the owner. */
  worker: WorkerDatabase | undefined;
}

/** One replica receives an event; the others read the change from the table after this time at the latest. */
const CACHE_TTL_MS = 5_000;
const MAX_CACHED = 20_000;
const PAGE = 500;
const RECONCILE_EVERY_MS = 300_000;
const RETRY_MS = 2_000;
/** Replicas of a service start a reconciliation at different times. */
const SPREAD_MS = 1_000;
/** The table is not read after this time without a reconciliation. */
const MAX_AGE_MS = 900_000;

/**
 * Looks up tenants that another service owns: in memory, in the table, at the owner. The table follows the events of the
 * owner and is compared with the owner's list at the start, every five minutes and after a gap in the invalidation feed.
 * A tenant that is unknown, or whose state is not known to be current, is never served from the table.
 * @see docs/reference/tenancy.md#tenant-directories
 */
export class TenantDirectory<Entry extends { status: string; version: number }> {
  private readonly cache: ReadThroughCache<Entry>;
  /** Tenants whose change was broadcast before its event arrived; read from the owner on next use. */
  private readonly outdated = new Set<string>();
  /** Rises whenever a broadcast may have been missed. */
  private gaps = 0;
  private reconciledGaps = -1;
  private reconciledAtMs = -Infinity;
  private dueAtMs: number;
  private reconciling?: Promise<number>;

  constructor(
    private readonly parts: DirectoryParts<Entry>,
    private readonly tools: DirectoryTools,
  ) {
    const tagsOf = (_: Entry | null, id: string) => [id];
    this.cache = new ReadThroughCache({ maxEntries: MAX_CACHED, ttlMs: CACHE_TTL_MS, clock: tools.clock }, tagsOf);
    this.dueAtMs = tools.clock.monotonicMs();
    if (parts.worker) {
      tools.metrics.observeAge(parts.name, () => (tools.clock.monotonicMs() - this.reconciledAtMs) / 1_000);
    }
  }

  /**
   * @returns also inactive ones; null when the owner does not have the tenant
   * @throws UnavailableError  503 when the state of the tenant is not known
   */
  async find(id: string): Promise<Entry | null> {
    if (!isUuid(id)) return null;
    this.parts.feed?.assertAlive();
    const key = id.toLowerCase();
    return this.cache.peek(key) ?? (await this.cache.get(key, () => this.read(key)));
  }

  /**
   * Reads many tenants into memory with two statements, so that `find` does not wait for each. Those that the table does not
   * have, or may not serve, are left to `find`.
   */
  async preload(ids: readonly string[]): Promise<void> {
    const missing = [...new Set(ids.filter(isUuid).map((id) => id.toLowerCase()))].filter((id) => !this.cache.peek(id));
    if (missing.length === 0) return;
    const stored = [...(await this.readTable(missing)).keys()];
    // Read again while the cache watches for changes: one that arrives meanwhile has its tenant read once more, alone.
    const unread = new Set(stored);
    let rows: Promise<Map<string, Entry>> | undefined;
    const readTogether = async (id: string) => {
      rows ??= this.readTable(stored);
      return (await rows).get(id) ?? (await this.read(id));
    };
    const read = (id: string) => (unread.delete(id) ? readTogether(id) : this.read(id));
    await Promise.all(stored.map((id) => this.cache.get(id, () => read(id))));
  }

  /** Stores tenants; older versions change nothing. Status first, so that no other field can keep it from being stored. */
  async apply(
    tx: WorkerTransaction,
    entries: readonly Entry[],
    readSeconds: number | null = null,
  ): Promise<WrittenRow[]> {
    const written = await this.store(tx, entries, readSeconds);
    if (written.length > 0) tx.afterCommit(() => this.cache.invalidate(written.map(({ id }) => id)));
    return written;
  }

  /**
   * Applies an event. A tenant whose change cannot be applied is marked and refused until it is read from its owner.
   * @param changes  the states in the event, each with the id that names its tenant
   * @throws MessageRejected  for a change that cannot be read; the others are applied
   */
  async receive(event: Envelope, changes: readonly TenantChange[], effect: string): Promise<void> {
    const states = changes.map(({ named, data }) => ({ named, state: this.readState(data) }));
    const unreadable = states.filter(({ state }) => state === null);
    const entries = states.map(({ state }) => state).filter((entry) => entry !== null);
    for (const { named } of unreadable) {
      await this.refuse({ id: named ?? '', version: null }, 'the state of the tenant cannot be read');
    }
    try {
      await this.tools.inbox.once(event, (tx) => this.apply(tx, entries), effect);
    } catch (error) {
      if (!(error instanceof UnavailableError)) {
        for (const entry of entries) {
          await this.refuse({ id: this.parts.idOf(entry), version: entry.version }, 'the change cannot be stored');
        }
      }
      throw error;
    }
    if (unreadable.length > 0) throw new MessageRejected('the state of the tenant cannot be read');
  }

  /** Marks tenants whose change was broadcast: the table may be older than the owner's state. */
  markOutdated(ids: readonly string[]): void {
    const { worker } = this.parts;
    const keys = ids.map((id) => id.toLowerCase());
    if (worker) keys.forEach((id) => this.outdated.add(id));
    if (this.outdated.size > MAX_CACHED) {
      this.outdated.clear();
      this.distrust();
    }
    this.cache.invalidate(keys);
  }

  /** Reads every tenant from its owner until the table was reconciled, because a broadcast may have been missed. */
  distrust(): void {
    this.gaps += 1;
    this.cache.flush();
    this.dueAtMs = Math.min(this.dueAtMs, this.tools.clock.monotonicMs() + Math.random() * SPREAD_MS);
  }

  /** Reconciles when the last time is long ago, or the table is not trusted. @throws what the owner throws */
  async reconcileWhenDue(): Promise<void> {
    if (!this.parts.worker || this.tools.clock.monotonicMs() < this.dueAtMs) return;
    await this.reconcile();
  }

  /**
   * Compares the table with the owner's list, page by page, and corrects what differs; rows that the owner does not have
   * are marked. @returns the number of rows that were corrected
   */
  reconcile(): Promise<number> {
    this.reconciling ??= this.compareAll().finally(() => (this.reconciling = undefined));
    return this.reconciling;
  }

  private async compareAll(): Promise<number> {
    const { worker, name } = this.parts;
    if (!worker) return 0;
    const { clock, metrics } = this.tools;
    const gaps = this.gaps;
    this.dueAtMs = clock.monotonicMs() + RETRY_MS;
    let [after, healed]: [string | null, number] = [null, 0];
    do {
      const startedMs = clock.monotonicMs();
      const page = await this.parts.list(after, PAGE);
      healed += await this.comparePage(worker, page, after, (clock.monotonicMs() - startedMs) / 1_000);
      after = page.next;
    } while (after !== null);
    this.reconciledGaps = gaps;
    this.reconciledAtMs = clock.monotonicMs();
    if (this.gaps === gaps) this.dueAtMs = this.reconciledAtMs + RECONCILE_EVERY_MS + Math.random() * SPREAD_MS;
    metrics.countHealed(name, healed);
    return healed;
  }

  private comparePage(
    worker: WorkerDatabase,
    { states, next }: OwnerPage,
    after: string | null,
    readSeconds: number,
  ): Promise<number> {
    const { repository, idOf } = this.parts;
    const entries = states.map((state) => this.readState(state)).filter((entry) => entry !== null);
    return worker.transaction(async (tx) => {
      const written = await this.apply(tx, entries, readSeconds);
      const missing = await repository.markMissing(tx, { after, upTo: next, ids: entries.map(idOf), readSeconds });
      await this.notify(tx, missing);
      tx.afterCommit(() => this.cache.invalidate(missing));
      return written.filter(({ isNew }) => !isNew).length + missing.length;
    });
  }

  private async read(id: string): Promise<Entry | null> {
    return (await this.readTable([id])).get(id) ?? this.readFromOwner(id);
  }

  /** Reads the tenants that the table has and may serve. */
  private async readTable(ids: readonly string[]): Promise<Map<string, Entry>> {
    const { worker, repository, idOf } = this.parts;
    const current = ids.filter((id) => !this.outdated.has(id));
    if (!worker || !this.isTrusted || current.length === 0) return new Map();
    const rows = await repository.list(worker, current);
    const readable = rows.filter(({ status }) => status !== UNKNOWN) as unknown as Entry[];
    return new Map(readable.map((row) => [idOf(row), row]));
  }

  private get isTrusted(): boolean {
    return this.reconciledGaps === this.gaps && this.tools.clock.monotonicMs() - this.reconciledAtMs <= MAX_AGE_MS;
  }

  private async readFromOwner(id: string): Promise<Entry | null> {
    const { worker } = this.parts;
    // Removed before the read: a broadcast that arrives while the owner responds must cause another read.
    const wasOutdated = this.outdated.delete(id);
    const startedMs = this.tools.clock.monotonicMs();
    try {
      const [state] = await this.parts.get([id]);
      if (state === undefined) return null;
      const entry = this.readState(state);
      if (entry === null) throw new UnavailableError(undefined, { logDetails: { reason: 'unreadable tenant', id } });
      if (worker) await this.storeRead(worker, id, entry, (this.tools.clock.monotonicMs() - startedMs) / 1_000);
      return entry;
    } catch (error) {
      if (wasOutdated) this.outdated.add(id);
      throw error;
    }
  }

  /**
   * Stores what the owner replied to a look-up. The look-up itself is not invalidated: it would read the owner twice.
   * The state is used also when it cannot be stored; the owner is then asked again.
   */
  private async storeRead(worker: WorkerDatabase, id: string, entry: Entry, readSeconds: number): Promise<void> {
    try {
      await worker.transaction((tx) => this.store(tx, [entry], readSeconds));
    } catch (err) {
      this.outdated.add(id);
      const fields = { err, directory: this.parts.name, tenantId: id };
      this.tools.logger.error(fields, 'Tenant not stored; it is read from its owner until it can be');
    }
  }

  private readState(data: unknown): Entry | null {
    const state = this.parts.read(data);
    if (state) this.reportMalformed(state);
    return state?.entry ?? null;
  }

  private async store(
    tx: WorkerTransaction,
    entries: readonly Entry[],
    readSeconds: number | null,
  ): Promise<WrittenRow[]> {
    const rows = this.newestById(entries);
    if (rows.length === 0) return [];
    const { repository, idOf } = this.parts;
    const written = await repository.upsertStatus(tx, rows, readSeconds);
    if (written.length === 0) return [];
    const ids = new Set(written.map(({ id }) => id));
    await this.storeDetails(
      tx,
      rows.filter((row) => ids.has(idOf(row))),
    );
    await this.notify(
      tx,
      written.filter(({ isNew }) => !isNew).map(({ id }) => id),
    );
    return written;
  }

  private async storeDetails(tx: WorkerTransaction, rows: readonly Entry[]): Promise<void> {
    const { repository, strictest, name } = this.parts;
    try {
      await tx.savepoint(() => repository.updateDetails(tx, rows));
    } catch (err) {
      if (err instanceof UnavailableError) throw err;
      this.tools.metrics.countMalformed(name, rows.length);
      this.tools.logger.error({ err, directory: name }, 'Details of tenants not stored; the strictest values apply');
      await repository.updateDetails(tx, rows.map(strictest));
    }
  }

  private async refuse(change: UnreadableChange, reason: string): Promise<void> {
    const { worker, repository, name } = this.parts;
    if (worker && isUuid(change.id)) {
      await worker.transaction(async (tx) => {
        if (await repository.markUnknown(tx, change)) await this.notify(tx, [change.id]);
      });
      this.cache.invalidate([change.id.toLowerCase()]);
    }
    this.tools.metrics.countUnreadable(name);
    const fields = { directory: name, tenantId: change.id, reason };
    this.tools.logger.error(fields, 'Change of a tenant not applied; it is refused until it is read from its owner');
  }

  private reportMalformed({ malformed, entry }: ReadState<Entry>): void {
    if (malformed.length === 0) return;
    const { name, idOf } = this.parts;
    this.tools.metrics.countMalformed(name, malformed.length);
    const fields = { directory: name, tenantId: idOf(entry), fields: malformed };
    this.tools.logger.error(fields, 'Fields of a tenant cannot be read; the strictest values apply');
  }

  private async notify(tx: WorkerTransaction, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.parts.onStored(tx, ids);
  }

  /** Sorted by id, so that two writers of the same rows cannot deadlock. */
  private newestById(entries: readonly Entry[]): Entry[] {
    const newest = new Map<string, Entry>();
    for (const entry of entries) {
      const id = this.parts.idOf(entry);
      if ((newest.get(id)?.version ?? -1) < entry.version) newest.set(id, entry);
    }
    return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  }
}
