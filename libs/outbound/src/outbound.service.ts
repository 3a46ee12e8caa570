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

interface AllowedUrl extends Extract<UrlCheck, { allowed: true }> {
  /** Parts that each request needs, and that `URL` joins at each read. */
  readonly origin: string;
  readonly path: string;
  /** The addresses that the rules allowed last, which need no second check while the resolver returns the same array. */
  vetted: readonly string[] | null;
}

const DNS_TIMEOUT_MS = 5_000;
/** URLs whose check is cached; the one that was checked first is dropped. */
const MAX_CHECKED = 20_000;

/**
 * Calls URLs that tenants configure. Nothing else may call them.
 * Every request is checked again, DNS included, and connects only to the addresses that were checked. Redirects are
 * returned and not followed, proxy variables of the environment are ignored, and compressed responses are neither
 * requested nor unpacked.
 */
export class Outbound {
  readonly rules: AddressRules;
  private readonly resolver: SingleFlightResolver;
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
    if (this.findVetted(checked) === null) await this.resolveAllowed(checked, this.dnsTimeoutMs);
  }

  /**
   * @returns the response, with any status
   * @throws UnsafeAddress  before anything was sent
   * @throws OutboundTimeout, OutboundFailed
   */
  request(request: OutboundRequest): Promise<OutboundResponse> {
    return this.send(request, request.method);
  }

  /** Sends a POST request. See `request`. */
  post(request: Omit<OutboundRequest, 'method'>): Promise<OutboundResponse> {
    return this.send(request, 'POST');
  }

  /** Closes all connections after their running requests have ended. */
  close(): Promise<void> {
    return this.pools.close();
  }

  private async send(
    { url, headers, body, timeoutMs, maxResponseBytes }: Omit<OutboundRequest, 'method'>,
    method: Dispatcher.HttpMethod,
  ): Promise<OutboundResponse> {
    const startedMs = this.nowMs();
    const checked = this.check(url);
    const addresses = this.findVetted(checked) ?? (await this.resolveAllowed(checked, timeoutMs));
    const remainingMs = timeoutMs - (this.nowMs() - startedMs);
    if (remainingMs <= 0) throw new OutboundTimeout(timeoutMs);
    return exchange(
      this.pools.acquire(checked.origin, addresses),
      { path: checked.path, method, headers: headersFor(checked.url, headers), body: body ?? null },
      { remainingMs, timeoutMs, maxResponseBytes },
    );
  }

  /** Caches the result, which depends on the text only; addresses from DNS are not cached. */
  private check(text: string): AllowedUrl {
    const known = this.checked.get(text);
    if (known) return known;
    const check = this.rules.checkUrl(text);
    if (!check.allowed) throw new UnsafeAddress(check.reasons);
    const { origin, pathname, search } = check.url;
    // A host that is an address was checked with the URL, and undici does not look it up.
    const vetted = check.literal === null ? null : [check.literal];
    const checked = { ...check, origin, path: pathname + search, vetted };
    if (this.checked.size >= MAX_CHECKED) this.checked.delete(this.checked.keys().next().value as string);
    this.checked.set(text, checked);
    return checked;
  }

  /** Returns the addresses of a host that need no query and no check. */
  private findVetted({ literal, url, vetted }: AllowedUrl): readonly string[] | null {
    return literal !== null || this.resolver.findCached(url.hostname) === vetted ? vetted : null;
  }

  private async resolveAllowed(checked: AllowedUrl, timeoutMs: number): Promise<readonly string[]> {
    const { url } = checked;
    const addresses = await this.resolve(url.hostname, timeoutMs);
    const check = this.rules.checkAddresses(url, addresses);
    if (check.allowed) return (checked.vetted = addresses);
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

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
