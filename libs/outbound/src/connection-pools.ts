import ipaddr from 'ipaddr.js';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { buildConnector, type Client, Pool } from 'undici';
import { CountingClient } from './exchange.js';
import { skipInterimResponses } from './interim-responses.js';
import { UnsafeAddress } from './outbound.errors.js';

export interface PoolLimits {
  /** Connections to one origin. */
  connectionsPerOrigin: number;
  /** Origins with open connections; the least recently used one is closed first. */
  maxOrigins: number;
  /** A pool is replaced after this time, so that a changed DNS record takes effect, in milliseconds. */
  maxLifetimeMs: number;
  /** An idle connection is closed after this time, in milliseconds. */
  keepAliveMs: number;
  /** TCP and TLS together, in milliseconds. */
  connectTimeoutMs: number;
}

export const DEFAULT_POOL_LIMITS: PoolLimits = {
  connectionsPerOrigin: 64,
  maxOrigins: 1_000,
  maxLifetimeMs: 300_000,
  keepAliveMs: 60_000,
  connectTimeoutMs: 5_000,
};

interface PinnedPool {
  pool: Pool;
  /** Addresses that were checked when it was opened; its connections use no other. */
  addresses: readonly string[];
  expiresAtMs: number;
}

/**
 * Keeps one pool of connections per origin, whose look-up returns only the checked addresses. Schemes, ports and names
 * never share a pool, even when they resolve to the same address.
 */
export class ConnectionPools {
  private readonly pools = new Map<string, PinnedPool>();
  private readonly closing = new Set<Promise<void>>();

  constructor(
    private readonly limits: PoolLimits,
    private readonly nowMs: () => number,
  ) {}

  /**
   * Returns the pool of an origin.
   * @param addresses  the addresses that were checked for this request; when the pool may have a connection to another
   *   one, it is closed after its running requests and a new pool is opened
   */
  acquire(origin: string, addresses: readonly string[]): Pool {
    let entry = this.pools.get(origin);
    if (entry && (entry.expiresAtMs <= this.nowMs() || !isSubset(entry.addresses, addresses))) {
      this.retire(origin, entry);
      entry = undefined;
    }
    if (entry) this.pools.delete(origin);
    else entry = this.open(origin, addresses);
    this.pools.set(origin, entry);
    this.evict();
    return entry.pool;
  }

  /** Closes all pools after their running requests have ended. */
  async close(): Promise<void> {
    for (const [origin, entry] of this.pools) this.retire(origin, entry);
    await Promise.all(this.closing);
  }

  private open(origin: string, addresses: readonly string[]): PinnedPool {
    const pool = new Pool(origin, {
      factory: (url: URL, options: object) => new CountingClient(url, options as Client.Options),
      connections: this.limits.connectionsPerOrigin,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: this.limits.keepAliveMs,
      keepAliveMaxTimeout: this.limits.keepAliveMs,
      // `exchange` has one time limit for everything; these would restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: pinnedConnector(addresses, this.limits.connectTimeoutMs),
    });
    return { pool, addresses, expiresAtMs: this.nowMs() + this.limits.maxLifetimeMs };
  }

  private evict(): void {
    for (const [origin, entry] of this.pools) {
      if (this.pools.size <= this.limits.maxOrigins) return;
      this.retire(origin, entry);
    }
  }

  private retire(origin: string, { pool }: PinnedPool): void {
    this.pools.delete(origin);
    const closing = pool.close().catch(() => undefined);
    this.closing.add(closing);
    void closing.finally(() => this.closing.delete(closing));
  }
}

/** Connects to the pinned addresses only, and checks the peer's address after connecting. */
function pinnedConnector(pinned: readonly string[], timeoutMs: number): buildConnector.connector {
  // Set explicitly, so that no environment variable turns verification off.
  const rejectUnauthorized = true;
  const lookup = pinnedLookup(pinned);
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup, rejectUnauthorized });
  const isPinned = (address: string) => pinned.some((one) => isSame(one, address));
  return (options, callback) => {
    // undici looks up no host that is an address.
    if (isIP(options.hostname) !== 0 && !isPinned(options.hostname))
      return callback(new UnsafeAddress([NOT_CHECKED]), null);
    return connect(options, (...[error, socket]) => {
      if (error || !socket) return callback(error ?? new Error('no connection'), null);
      if (socket.remoteAddress && isPinned(socket.remoteAddress)) return callback(null, skipInterimResponses(socket));
      socket.destroy();
      return callback(new UnsafeAddress([NOT_CHECKED]), null);
    });
  };
}

const NOT_CHECKED = 'the connection would use an address that was not checked';

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

function pinnedLookup(pinned: readonly string[]) {
  const all = pinned.map((address) => ({ address, family: isIP(address) }));
  return (_host: string, options: LookupOptions, callback: LookupCallback): void => {
    const family = options.family === 4 || options.family === 6 ? options.family : 0;
    const matching = all.filter((address) => family === 0 || address.family === family);
    const [first] = matching;
    if (!first) return callback(new UnsafeAddress(['the host has no address']), []);
    // Node requests all of them when it tries both families in parallel.
    return options.all ? callback(null, matching) : callback(null, first.address, first.family);
  };
}

const isSame = (a: string, b: string) => a === b || ipaddr.process(a).toString() === ipaddr.process(b).toString();
const isSubset = (inner: readonly string[], outer: readonly string[]) => inner.every((one) => outer.includes(one));
