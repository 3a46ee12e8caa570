import ipaddr from 'ipaddr.js';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { buildConnector, Pool } from 'undici';
import { CountingClient } from './exchange.js';
import { skipInterimResponses } from './interim-responses.js';
import { UnsafeAddress } from './outbound.errors.js';

export interface PoolLimits {
  /** Connections to one origin. */
  connectionsPerOrigin: number;
  /** Origins with open connections; the least recently used one is closed first. */
  maxOrigins: number;
  /** A pool is replaced after this time, so that a changed DNS record takes effect on open connections, in milliseconds. */
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

/** The addresses that new connections of a pool may use: those of the newest check. */
interface Target {
  addresses: readonly string[];
}

interface OriginPool {
  target: Target;
  pool: Pool;
  expiresAtMs: number;
}

/**
 * Keeps one pool of connections per origin, whose look-up returns only the addresses of the newest check. Schemes, ports
 * and names never share a pool, even when they resolve to the same address. An open connection is reused for its
 * lifetime although the name resolves to other addresses by now: its peer was checked when it was opened, and many
 * name servers return a different subset each time.
 */
export class ConnectionPools {
  private readonly pools = new Map<string, OriginPool>();
  private readonly closing = new Set<Promise<void>>();

  constructor(
    private readonly limits: PoolLimits,
    private readonly nowMs: () => number,
  ) {}

  /**
   * Returns the pool of an origin.
   * @param addresses  the addresses that were checked for this request; new connections use them
   */
  acquire(origin: string, addresses: readonly string[]): Pool {
    let entry = this.pools.get(origin);
    if (entry && entry.expiresAtMs <= this.nowMs()) {
      this.retire(origin, entry);
      entry = undefined;
    }
    if (entry) {
      this.pools.delete(origin);
      entry.target.addresses = addresses;
    } else {
      entry = this.open(origin, addresses);
    }
    this.pools.set(origin, entry);
    this.evict();
    return entry.pool;
  }

  /** Closes the pool of an origin that may not be called any more, after its running requests have ended. */
  refuse(origin: string): void {
    const entry = this.pools.get(origin);
    if (entry) this.retire(origin, entry);
  }

  /** Closes all pools after their running requests have ended. */
  async close(): Promise<void> {
    for (const [origin, entry] of this.pools) this.retire(origin, entry);
    await Promise.all(this.closing);
  }

  private open(origin: string, addresses: readonly string[]): OriginPool {
    const target: Target = { addresses };
    const pool = new Pool(origin, {
      factory: (url: URL, options: object) => new CountingClient(url, options),
      connections: this.limits.connectionsPerOrigin,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: this.limits.keepAliveMs,
      keepAliveMaxTimeout: this.limits.keepAliveMs,
      // `exchange` has one time limit for everything; these would restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: pinnedConnector(target, this.limits.connectTimeoutMs),
    });
    return { pool, target, expiresAtMs: this.nowMs() + this.limits.maxLifetimeMs };
  }

  private evict(): void {
    for (const [origin, entry] of this.pools) {
      if (this.pools.size <= this.limits.maxOrigins) return;
      this.retire(origin, entry);
    }
  }

  private retire(origin: string, { pool }: OriginPool): void {
    this.pools.delete(origin);
    const closing = pool.close().catch(() => undefined);
    this.closing.add(closing);
    void closing.finally(() => this.closing.delete(closing));
  }
}

/** The authorities that certificates are verified with. Without it Node creates a context for each connection. */
const secureContext = createSecureContext();

/** Connects to the addresses of the target only, and checks the peer's address after connecting. */
function pinnedConnector(target: Target, timeoutMs: number): buildConnector.connector {
  // Set explicitly, so that no environment variable turns verification off.
  const rejectUnauthorized = true;
  const lookup = pinnedLookup(target);
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup, rejectUnauthorized, secureContext });
  return (options, callback) => {
    // The addresses at this moment, at which Node calls the look-up too: a later check may replace them.
    const { addresses } = target;
    const isPinned = (address: string) => addresses.some((one) => isSame(one, address));
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

function pinnedLookup(target: Target) {
  return (_host: string, options: LookupOptions, callback: LookupCallback): void => {
    const family = options.family === 4 || options.family === 6 ? options.family : 0;
    const all = target.addresses.map((address) => ({ address, family: isIP(address) }));
    const matching = all.filter((address) => family === 0 || address.family === family);
    const [first] = matching;
    if (!first) return callback(new UnsafeAddress(['the host has no address']), []);
    // Node requests all of them when it tries both families in parallel.
    return options.all ? callback(null, matching) : callback(null, first.address, first.family);
  };
}

const isSame = (a: string, b: string) => a === b || ipaddr.process(a).toString() === ipaddr.process(b).toString();
