import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector, Pool } from 'undici';
import { UnsafeAddress } from './outbound.errors.js';

export interface PoolLimits {
  /** Connections to one origin. */
  connectionsPerOrigin: number;
  /** Origins kept open; the one unused for longest goes first. */
  maxOrigins: number;
  /** A pool is replaced after this, so that a moved name is followed, in milliseconds. */
  maxLifetimeMs: number;
  /** An idle connection is closed after this, in milliseconds. */
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
  /** The verdict it was opened on: the only addresses its connections ever go to. */
  addresses: readonly string[];
  expiresAtMs: number;
}

/**
 * One pool of kept connections per origin. Its look-up answers with the vetted addresses and nothing else.
 * Pools never share: not between schemes, ports or names, although they may stand on one address.
 */
export class ConnectionPools {
  readonly #pools = new Map<string, PinnedPool>();
  readonly #closing = new Set<Promise<void>>();

  constructor(
    private readonly limits: PoolLimits,
    private readonly nowMs: () => number,
  ) {}

  /**
   * @param addresses  the verdict this use rests on; when the pool may hold a connection to any other address,
   *   the name has moved: it is closed behind the requests it still carries, and a new one is opened
   */
  take(origin: string, addresses: readonly string[]): Pool {
    let entry = this.#pools.get(origin);
    if (entry && (entry.expiresAtMs <= this.nowMs() || !isSubset(entry.addresses, addresses))) {
      this.#retire(origin, entry);
      entry = undefined;
    }
    if (entry) this.#pools.delete(origin);
    else entry = this.#open(origin, addresses);
    this.#pools.set(origin, entry);
    this.#evict();
    return entry.pool;
  }

  /** Ends when every exchange in flight has ended. */
  async close(): Promise<void> {
    for (const [origin, entry] of this.#pools) this.#retire(origin, entry);
    await Promise.all(this.#closing);
  }

  #open(origin: string, addresses: readonly string[]): PinnedPool {
    const pool = new Pool(origin, {
      connections: this.limits.connectionsPerOrigin,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: this.limits.keepAliveMs,
      keepAliveMaxTimeout: this.limits.keepAliveMs,
      // The caller keeps one deadline over the whole exchange; these would restart with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: pinnedConnector(addresses, this.limits.connectTimeoutMs),
    });
    return { pool, addresses, expiresAtMs: this.nowMs() + this.limits.maxLifetimeMs };
  }

  #evict(): void {
    for (const [origin, entry] of this.#pools) {
      if (this.#pools.size <= this.limits.maxOrigins) return;
      this.#retire(origin, entry);
    }
  }

  #retire(origin: string, { pool }: PinnedPool): void {
    this.#pools.delete(origin);
    const closing = pool.close().catch(() => undefined);
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }
}

/** Connects to the pinned addresses only, and looks again at where it arrived. */
function pinnedConnector(pinned: readonly string[], timeoutMs: number): buildConnector.connector {
  // Said here, so that no variable of the environment switches verification off.
  const rejectUnauthorized = true;
  const lookup = pinnedLookup(pinned);
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup, rejectUnauthorized });
  const isPinned = (address: string) => pinned.some((one) => isSame(one, address));
  return (options, callback) => {
    // No look-up is asked for a host that spells an address.
    if (isIP(options.hostname) !== 0 && !isPinned(options.hostname))
      return callback(new UnsafeAddress([NOT_VETTED]), null);
    return connect(options, (...[error, socket]) => {
      if (error || !socket) return callback(error ?? new Error('no connection'), null);
      if (socket.remoteAddress && isPinned(socket.remoteAddress)) return callback(null, socket);
      socket.destroy();
      return callback(new UnsafeAddress([NOT_VETTED]), null);
    });
  };
}

const NOT_VETTED = 'the connection would reach an address that was not vetted';

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

function pinnedLookup(pinned: readonly string[]) {
  const all = pinned.map((address) => ({ address, family: isIP(address) }));
  return (_host: string, options: LookupOptions, callback: LookupCallback): void => {
    const family = options.family === 4 || options.family === 6 ? options.family : 0;
    const answers = all.filter((answer) => family === 0 || answer.family === family);
    const [first] = answers;
    if (!first) return callback(new UnsafeAddress(['the host has no address']), []);
    // Node asks for all of them when it may race the two families.
    return options.all ? callback(null, answers) : callback(null, first.address, first.family);
  };
}

const isSame = (a: string, b: string) => a === b || ipaddr.process(a).toString() === ipaddr.process(b).toString();
const isSubset = (inner: readonly string[], outer: readonly string[]) => inner.every((one) => outer.includes(one));
