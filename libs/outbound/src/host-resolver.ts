import { lookup, Resolver as DnsClient } from 'node:dns/promises';
import pTimeout from 'p-timeout';
import { OutboundFailed } from './outbound.errors.js';

/** Resolves a name to all its addresses; an empty list when it has none. @throws when the resolver itself fails */
export interface HostResolver {
  resolve(host: string): Promise<string[]>;
}

/** Error codes of both resolvers for a name without addresses. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME', 'EAI_NODATA']);

/**
 * Resolves names by the operating system, which also knows the names of the local network. It runs on the four threads
 * of libuv, where one slow name delays others; therefore for self-hosted deployments only.
 */
export class SystemResolver implements HostResolver {
  async resolve(host: string): Promise<string[]> {
    const records = await lookup(host, { all: true, order: 'verbatim' }).catch(emptyOrThrow);
    return records.map(({ address }) => address);
  }
}

/** Queries the name servers directly: no hosts file, no search domains, and a slow name does not delay others. */
export class NameServerResolver implements HostResolver {
  private readonly client = new DnsClient({ timeout: 2_000, tries: 2 });

  async resolve(host: string): Promise<string[]> {
    const records = await Promise.allSettled([this.client.resolve4(host), this.client.resolve6(host)]);
    const found = records.flatMap((record) => (record.status === 'fulfilled' ? record.value : []));
    if (found.length > 0) return found;
    const failed = records.find((record) => record.status === 'rejected' && !isNoAddress(record.reason));
    if (failed?.status === 'rejected') throw failed.reason;
    return [];
  }
}

/** Runs one query at a time for a host; concurrent callers share its result and its time limit. */
export class SingleFlightResolver implements HostResolver {
  private readonly queries = new Map<string, Promise<string[]>>();

  constructor(
    private readonly resolver: HostResolver,
    private readonly timeoutMs: number,
  ) {}

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
