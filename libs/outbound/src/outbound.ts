import type { Dispatcher } from 'undici';
import { AddressRules, type AddressRulesOptions, type UrlVerdict } from './address-rules.js';
import { ConnectionPools, DEFAULT_POOL_LIMITS, type PoolLimits } from './connection-pools.js';
import { exchange, type OutboundResponse } from './exchange.js';
import {
  type HostResolver,
  NameServerResolver,
  SingleFlightResolver,
  SystemResolver,
  within,
} from './host-resolver.js';
import { OutboundTimeout, UnsafeAddress } from './outbound.errors.js';

export interface OutboundRequest {
  url: string;
  method: Dispatcher.HttpMethod;
  /** `Host` is always taken from the URL. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
  /** For everything: DNS, connection, request, headers and body, in milliseconds. */
  timeoutMs: number;
  /** More than this is not read; the answer says `truncated`. */
  maxResponseBytes: number;
}

export interface OutboundOptions extends AddressRulesOptions {
  resolver?: HostResolver;
  pools?: Partial<PoolLimits>;
  /** What a name may take to resolve, whatever the request's own time; in milliseconds. */
  dnsTimeoutMs?: number;
  nowMs?: () => number;
}

type AllowedUrl = UrlVerdict & { allowed: true };

const DNS_TIMEOUT_MS = 5_000;
/** URLs whose text has been judged. */
const MAX_CHECKED = 2_000;

/**
 * The only way to call a URL that a tenant chose.
 * Each request is vetted anew, DNS included, and connects to nothing but the addresses of its verdict.
 * Redirects are answers like any other, never followed; proxy variables of the environment are not read;
 * compressed answers are neither asked for nor unpacked.
 */
export class Outbound {
  readonly rules: AddressRules;
  readonly #resolver: HostResolver;
  readonly #pools: ConnectionPools;
  readonly #dnsTimeoutMs: number;
  readonly #nowMs: () => number;
  readonly #checked = new Map<string, AllowedUrl>();

  constructor(options: OutboundOptions) {
    this.rules = new AddressRules(options);
    this.#dnsTimeoutMs = options.dnsTimeoutMs ?? DNS_TIMEOUT_MS;
    // One resolver for the verdict and the connection, or the two could disagree.
    this.#resolver = new SingleFlightResolver(
      options.resolver ?? (options.isHosted ? new NameServerResolver() : new SystemResolver()),
      this.#dnsTimeoutMs,
    );
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#pools = new ConnectionPools({ ...DEFAULT_POOL_LIMITS, ...options.pools }, this.#nowMs);
  }

  /** @throws UnsafeAddress  with all reasons, also when the name has no answer */
  async assertAllowed(url: string): Promise<void> {
    const checked = this.#check(url);
    if (checked.literal === null) await this.#vetName(checked.url, this.#dnsTimeoutMs);
  }

  /**
   * @returns any answer, whatever its status
   * @throws UnsafeAddress  before anything was sent
   * @throws OutboundTimeout, OutboundFailed
   */
  async request(request: OutboundRequest): Promise<OutboundResponse> {
    const startedMs = this.#nowMs();
    const checked = this.#check(request.url);
    // Nothing to wait for where the host is an address.
    const addresses = literalOf(checked) ?? (await this.#vetName(checked.url, request.timeoutMs));
    const { url } = checked;
    const remainingMs = request.timeoutMs - (this.#nowMs() - startedMs);
    if (remainingMs <= 0) throw new OutboundTimeout(request.timeoutMs);
    return exchange(
      this.#pools.take(url.origin, addresses),
      {
        path: url.pathname + url.search,
        method: request.method,
        headers: headersFor(url, request.headers),
        body: request.body ?? null,
      },
      { remainingMs, timeoutMs: request.timeoutMs, maxResponseBytes: request.maxResponseBytes },
    );
  }

  /** A POST; otherwise as `request`. */
  post(request: Omit<OutboundRequest, 'method'>): Promise<OutboundResponse> {
    return this.request({ ...request, method: 'POST' });
  }

  /** Ends when every exchange in flight has ended. */
  close(): Promise<void> {
    return this.#pools.close();
  }

  /** What the text alone says of a URL never changes: it is remembered, the answers of DNS are not. */
  #check(text: string): AllowedUrl {
    const known = this.#checked.get(text);
    if (known) return known;
    const checked = this.rules.checkUrl(text);
    if (!checked.allowed) throw new UnsafeAddress(checked.reasons);
    if (this.#checked.size >= MAX_CHECKED) this.#checked.clear();
    this.#checked.set(text, checked);
    return checked;
  }

  async #vetName(url: URL, timeoutMs: number): Promise<readonly string[]> {
    const addresses = await this.#resolve(url.hostname, timeoutMs);
    const verdict = this.rules.judgeAddresses(url, addresses);
    if (!verdict.allowed) throw new UnsafeAddress(verdict.reasons);
    return addresses;
  }

  async #resolve(host: string, timeoutMs: number): Promise<string[]> {
    const answer = this.#resolver.resolve(host);
    try {
      // The resolver keeps its own time; a request in a greater hurry waits no longer than it can.
      return await (timeoutMs < this.#dnsTimeoutMs ? within(timeoutMs, answer) : answer);
    } catch (cause) {
      // Without an answer there is nothing to vet: the attempt is refused, not sent on trust.
      throw new UnsafeAddress(['the host could not be resolved'], { cause });
    }
  }
}

/** Userinfo of the URL becomes Basic credentials unless the caller brought its own; undici would drop it. */
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

/** undici asks no look-up for a literal: it was judged with the URL, and here it is its own answer. */
const literalOf = ({ literal }: AllowedUrl): string[] | null => (literal === null ? null : [literal]);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
