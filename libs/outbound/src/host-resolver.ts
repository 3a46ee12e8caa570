import type { RecordWithTtl } from 'node:dns';
import { lookup, Resolver as DnsClient } from 'node:dns/promises';
import pTimeout from 'p-timeout';
import { OutboundFailed } from './outbound.errors.js';

/** Resolves a name to all its addresses; an empty list when it has none. @throws when the resolver itself fails */
export interface HostResolver {
  resolve(host: string): Promise<string[]>;
  /** Returns the addresses that a query found a moment ago, the same array each time; null when it is time for another. */
  findCached?(host: string): readonly string[] | null;
}

/** Error codes of both resolvers for a name without addresses. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME', 'EAI_NODATA']);

const MAX_TTL_MS = 5_000;
/** getaddrinfo reports no TTL. */
const SYSTEM_TTL_MS = 1_000;
const MAX_CACHED = 10_000;

const nowMsByDefault = () => performance.now();

/** Caches the addresses of names for the time that their name server allows, at most 5 seconds. */
abstract class CachingResolver implements HostResolver {
  private readonly entries = new Map<string, { addresses: string[]; expiresAtMs: number }>();

  constructor(private readonly nowMs: () => number) {}

  findCached(host: string): string[] | null {
    const entry = this.entries.get(host);
    return entry && entry.expiresAtMs > this.nowMs() ? entry.addresses : null;
  }

  async resolve(host: string): Promise<string[]> {
    return this.findCached(host) ?? this.query(host);
  }

  protected abstract query(host: string): Promise<string[]>;

  protected store(host: string, addresses: string[], ttlMs: number): void {
    this.entries.delete(host);
    if (addresses.length === 0 || ttlMs <= 0) return;
    this.entries.set(host, { addresses, expiresAtMs: this.nowMs() + Math.min(ttlMs, MAX_TTL_MS) });
    const [oldest] = this.entries.keys();
    if (this.entries.size > MAX_CACHED && oldest !== undefined) this.entries.delete(oldest);
  }
}

/**
 * Resolves names by the operating system, which also knows the names of the local network. It runs on the four threads
 * of libuv, where one slow name delays others; therefore for self-hosted deployments only.
 */
export class SystemResolver extends CachingResolver {
  constructor(nowMs = nowMsByDefault) {
    super(nowMs);
  }

  protected async query(host: string): Promise<string[]> {
    const records = await lookup(host, { all: true, order: 'verbatim' }).catch(emptyOrThrow);
    const addresses = records.map(({ address }) => address);
    this.store(host, addresses, SYSTEM_TTL_MS);
    return addresses;
  }
}

/** The queries that `NameServerResolver` sends. */
export interface AddressQueries {
  resolve4(host: string, options: { ttl: true }): Promise<RecordWithTtl[]>;
  resolve6(host: string, options: { ttl: true }): Promise<RecordWithTtl[]>;
}

/** Queries the name servers directly: no hosts file, no search domains, and a slow name does not delay others. */
export class NameServerResolver extends CachingResolver {
  constructor(
    private readonly queries: AddressQueries = new DnsClient({ timeout: 2_000, tries: 2 }),
    nowMs = nowMsByDefault,
  ) {
    super(nowMs);
  }

  protected async query(host: string): Promise<string[]> {
    const responses = await Promise.allSettled([
      this.queries.resolve4(host, { ttl: true }),
      this.queries.resolve6(host, { ttl: true }),
    ]);
    const records = responses.flatMap((response) => (response.status === 'fulfilled' ? response.value : []));
    const failed = responses.find((response) => response.status === 'rejected' && !isNoAddress(response.reason));
    if (records.length === 0 && failed?.status === 'rejected') throw failed.reason;
    const addresses = records.map(({ address }) => address);
    // The addresses of a family that failed are missing: the next request queries again.
    this.store(host, addresses, failed ? 0 : Math.min(...records.map(({ ttl }) => ttl)) * 1_000);
    return addresses;
  }
}

/** Runs one query at a time for a host; concurrent callers share its result and its time limit. */
export class SingleFlightResolver implements HostResolver {
  private readonly queries = new Map<string, Promise<string[]>>();

  constructor(
    private readonly resolver: HostResolver,
    private readonly timeoutMs: number,
  ) {}

  findCached(host: string): readonly string[] | null {
    return this.resolver.findCached?.(host) ?? null;
  }

  resolve(host: string): Promise<string[]> {
    const running = this.queries.get(host);
    if (running) return running;
    // With a time limit, so that a query without a response does not block later callers.
    const query = resolveWithin(this.timeoutMs, this.resolver.resolve(host)).finally(() => this.queries.delete(host));
    this.queries.set(host, query);
    return query;
  }
}

/** Timers of a query must not keep a process from ending. */
const UNREF_TIMERS = {
  setTimeout: ((callback: () => void, ms: number) => setTimeout(callback, ms).unref()) as typeof setTimeout,
  clearTimeout,
};

/** @throws OutboundFailed  with the code ETIMEOUT when the query takes longer */
export function resolveWithin<T>(milliseconds: number, query: Promise<T>): Promise<T> {
  return pTimeout(query, {
    milliseconds,
    customTimers: UNREF_TIMERS,
    message: new OutboundFailed('Name resolution timed out', 'ETIMEOUT'),
  });
}

function isNoAddress(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && NO_ADDRESS.has(String(error.code));
}

function emptyOrThrow(error: unknown): never[] {
  if (isNoAddress(error)) return [];
  throw error;
}
