import type { Dispatcher } from 'undici';
import { AddressRules, type AddressRulesOptions, type UrlCheck } from './address-rules.js';
import { ConnectionPools, DEFAULT_POOL_LIMITS, type PoolLimits } from './connection-pools.js';
import { exchange, type OutboundResponse } from './exchange.js';
import {
  type HostResolver,
  NameServerResolver,
  SingleFlightResolver,
  SystemResolver,
  resolveWithin,
} from './host-resolver.js';
import { OutboundTimeout, UnsafeAddress } from './outbound.errors.js';

export interface OutboundRequest {
  url: string;
  method: Dispatcher.HttpMethod;
  /** `Host` is always taken from the URL. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
  /** Time limit for DNS, connection, request, headers and body together, in milliseconds. */
  timeoutMs: number;
  /** Reading stops at this size; the response is then `truncated`. */
  maxResponseBytes: number;
}

export interface OutboundOptions extends AddressRulesOptions {
  resolver?: HostResolver;
  pools?: Partial<PoolLimits>;
  /** Time limit for resolving a name, in milliseconds; applies in addition to the request's own. */
  dnsTimeoutMs?: number;
  nowMs?: () => number;
}

type AllowedUrl = UrlCheck & { allowed: true };

const DNS_TIMEOUT_MS = 5_000;
/** URLs whose check is cached. */
const MAX_CHECKED = 2_000;

/**
 * Calls URLs that tenants configure. Nothing else may call them.
 * Every request is checked again, DNS included, and connects only to the addresses that were checked. Redirects are
 * returned and not followed, proxy variables of the environment are ignored, and compressed responses are neither
 * requested nor unpacked.
 */
export class Outbound {
  readonly rules: AddressRules;
  private readonly resolver: HostResolver;
  private readonly pools: ConnectionPools;
  private readonly dnsTimeoutMs: number;
  private readonly nowMs: () => number;
  private readonly checked = new Map<string, AllowedUrl>();

  constructor(options: OutboundOptions) {
    this.rules = new AddressRules(options);
    this.dnsTimeoutMs = options.dnsTimeoutMs ?? DNS_TIMEOUT_MS;
    // The same resolver for the check and the connection, because two could return different addresses.
    this.resolver = new SingleFlightResolver(
      options.resolver ?? (options.isHosted ? new NameServerResolver() : new SystemResolver()),
      this.dnsTimeoutMs,
    );
    this.nowMs = options.nowMs ?? (() => performance.now());
    this.pools = new ConnectionPools({ ...DEFAULT_POOL_LIMITS, ...options.pools }, this.nowMs);
  }

  /** @throws UnsafeAddress  with all reasons; also when the name cannot be resolved */
  async assertAllowed(url: string): Promise<void> {
    const checked = this.check(url);
    if (checked.literal === null) await this.resolveAllowed(checked.url, this.dnsTimeoutMs);
  }

  /**
   * @returns the response, with any status
   * @throws UnsafeAddress  before anything was sent
   * @throws OutboundTimeout, OutboundFailed
   */
  async request(request: OutboundRequest): Promise<OutboundResponse> {
    const startedMs = this.nowMs();
    const checked = this.check(request.url);
    const addresses = literalOf(checked) ?? (await this.resolveAllowed(checked.url, request.timeoutMs));
    const { url } = checked;
    const remainingMs = request.timeoutMs - (this.nowMs() - startedMs);
    if (remainingMs <= 0) throw new OutboundTimeout(request.timeoutMs);
    return exchange(
      this.pools.acquire(url.origin, addresses),
      {
        path: url.pathname + url.search,
        method: request.method,
        headers: headersFor(url, request.headers),
        body: request.body ?? null,
      },
      { remainingMs, timeoutMs: request.timeoutMs, maxResponseBytes: request.maxResponseBytes },
    );
  }

  /** Sends a POST request. See `request`. */
  post(request: Omit<OutboundRequest, 'method'>): Promise<OutboundResponse> {
    return this.request({ ...request, method: 'POST' });
  }

  /** Closes all connections after their running requests have ended. */
  close(): Promise<void> {
    return this.pools.close();
  }

  /** Caches the result, which depends on the text only; addresses from DNS are not cached. */
  private check(text: string): AllowedUrl {
    const known = this.checked.get(text);
    if (known) return known;
    const checked = this.rules.checkUrl(text);
    if (!checked.allowed) throw new UnsafeAddress(checked.reasons);
    if (this.checked.size >= MAX_CHECKED) this.checked.clear();
    this.checked.set(text, checked);
    return checked;
  }

  private async resolveAllowed(url: URL, timeoutMs: number): Promise<readonly string[]> {
    const addresses = await this.resolve(url.hostname, timeoutMs);
    const check = this.rules.checkAddresses(url, addresses);
    if (check.allowed) return addresses;
    this.pools.refuse(url.origin);
    throw new UnsafeAddress(check.reasons);
  }

  private async resolve(host: string, timeoutMs: number): Promise<string[]> {
    const query = this.resolver.resolve(host);
    try {
      // The resolver has its own time limit; a request with less time waits only that long.
      return await (timeoutMs < this.dnsTimeoutMs ? resolveWithin(timeoutMs, query) : query);
    } catch (cause) {
      // Without addresses nothing can be checked, so the request is refused.
      throw new UnsafeAddress(['the host could not be resolved'], { cause });
    }
  }
}

/** Adds the user info of the URL as Basic credentials, which undici would drop, unless the caller set its own. */
function headersFor(url: URL, given: Readonly<Record<string, string>> = {}): string[] {
  const flat: string[] = [];
  let hasAuthorization = false;
  for (const name in given) {
    if (isNamed(name, 'host')) continue;
    hasAuthorization ||= isNamed(name, 'authorization');
    flat.push(name, given[name] ?? '');
  }
  if (!hasAuthorization && (url.username !== '' || url.password !== '')) {
    const credentials = `${decode(url.username)}:${decode(url.password)}`;
    flat.push('authorization', `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`);
  }
  return flat;
}

const isNamed = (name: string, lower: string): boolean => name.length === lower.length && name.toLowerCase() === lower;

/** Returns the address of a host that is an address: it was checked with the URL, and undici does not look it up. */
const literalOf = ({ literal }: AllowedUrl): string[] | null => (literal === null ? null : [literal]);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
