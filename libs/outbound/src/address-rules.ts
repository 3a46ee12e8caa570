import ipaddr from 'ipaddr.js';
import { isIPv4 } from 'node:net';
import { addressKind, type AddressRange, type ConfiguredRanges } from './address-kind.js';

/** Result of a check. The reasons may be shown to the tenant; they contain no address of our network. */
export type AddressCheck = { allowed: true } | { allowed: false; reasons: string[] };

/** Result of checking a URL without DNS. */
export type UrlCheck =
  | {
      allowed: true;
      /** Parsed and normalized: no fragment, no final dot on the host. */
      url: URL;
      /** The address that the host is written as, or null when it is a name that must be resolved. */
      literal: string | null;
    }
  | { allowed: false; reasons: string[] };

export interface AddressRulesOptions {
  /** Hosted rules: HTTPS only and no private destination. */
  isHosted: boolean;
  /** CIDRs or addresses to allow in tests and local trials, also over http (`OUTBOUND_EXTRA_ALLOWED_CIDRS`). */
  extraAllowedCidrs?: readonly string[];
  /** CIDRs or addresses of the operator that no URL of a tenant may name (`OUTBOUND_BLOCKED_CIDRS`). */
  blockedCidrs?: readonly string[];
  /** URL of our own API (`PUBLIC_API_URL`): its host is refused, on every port when it is a name. */
  ownUrl?: string;
}

const OWN_HOST = 'the host is this service';
const MAX_HOST_LENGTH = 253;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** Suffixes of local networks and clusters (`.cluster.local` is under `.local`): in a hosted deployment, our own. */
const LOCAL_SUFFIXES = ['.internal', '.home.arpa', '.lan', '.localdomain', '.svc'];

/**
 * Decides which URLs of tenants may be called. The host is checked after URL parsing, which normalizes every notation
 * of an address.
 */
export class AddressRules {
  readonly isHosted: boolean;
  private readonly extraAllowed: readonly AddressRange[];
  private readonly ranges: ConfiguredRanges;
  private readonly own: OwnHost | null;

  /** @throws Error  when a CIDR or `ownUrl` does not parse */
  constructor({ isHosted, extraAllowedCidrs = [], blockedCidrs = [], ownUrl }: AddressRulesOptions) {
    this.isHosted = isHosted;
    this.extraAllowed = extraAllowedCidrs.map(rangeOf);
    this.ranges = { extraAllowed: this.extraAllowed, blocked: blockedCidrs.map(rangeOf) };
    this.own = ownUrl === undefined ? null : ownHostOf(new URL(ownUrl));
  }

  /** Checks scheme, port and name and, when the host is an address, that address. */
  checkUrl(text: string): UrlCheck {
    const url = parsed(text);
    if (url === null) return refused('it is not a valid URL');
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused('only https is allowed');
    if (url.port === '0') return refused('port 0 is not a port');
    // The setter parses the URL again, and this runs before every attempt.
    if (url.hash !== '') url.hash = '';
    const literal = literalOf(url.hostname);
    if (literal !== null) {
      const check = this.checkAddresses(url, [literal]);
      return check.allowed ? { allowed: true, url, literal } : check;
    }
    const name = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
    // Checked before it is assigned: the setter would parse `127.0.0.1.` (from a host with two final dots) as an address.
    const reason = this.refuseName(name);
    if (reason) return refused(reason);
    if (name !== url.hostname) url.hostname = name;
    // http may be allowed once the name is resolved, but never in a hosted deployment without extra ranges.
    if (url.protocol === 'http:' && this.isHosted && this.extraAllowed.length === 0) {
      return refused('only https is allowed');
    }
    return { allowed: true, url, literal };
  }

  /**
   * Checks the addresses of a host.
   * @param addresses  every address that the name resolves to; one forbidden address refuses the URL
   */
  checkAddresses(url: URL, addresses: readonly string[]): AddressCheck {
    if (addresses.length === 0) return refused('the host has no address');
    const kinds = addresses.map((address) => addressKind(address, this.ranges));
    const reasons = new Set<string>();
    if (this.isOwnAddress(url, addresses)) reasons.add(OWN_HOST);
    if (kinds.includes('blocked')) reasons.add('the host is in a blocked address range');
    if (this.isHosted && kinds.includes('private')) reasons.add('the host is in a private address range');
    const isPlain = url.protocol === 'http:';
    if (isPlain && this.isHosted && kinds.some((kind) => kind !== 'extra')) reasons.add('only https is allowed');
    if (isPlain && !this.isHosted && kinds.includes('public')) {
      reasons.add('plain http is allowed for private addresses only');
    }
    return reasons.size === 0 ? { allowed: true } : { allowed: false, reasons: [...reasons] };
  }

  private isOwnAddress(url: URL, addresses: readonly string[]): boolean {
    const { own } = this;
    if (own === null || own.literal === null || own.port !== portOf(url)) return false;
    const literal = own.literal.toString();
    return addresses.some((address) => ipaddr.isValid(address) && ipaddr.process(address).toString() === literal);
  }

  private refuseName(host: string): string | null {
    if (host === this.own?.name) return OWN_HOST;
    if (host === 'localhost' || host.endsWith('.localhost')) return 'localhost is not allowed';
    if (host === 'local' || host.endsWith('.local')) return 'names under .local are not allowed';
    if (host.length > MAX_HOST_LENGTH || !host.split('.').every((label) => LABEL.test(label))) {
      return 'the host is not a valid name';
    }
    if (!this.isHosted) return null;
    if (!host.includes('.')) return 'the host must be a full domain name';
    return LOCAL_SUFFIXES.some((suffix) => host.endsWith(suffix)) ? 'names of local networks are not allowed' : null;
  }
}

/** Host of our own API. A name is refused on every port; an address on its port, since other services may share it. */
interface OwnHost {
  name: string;
  literal: ipaddr.IPv4 | ipaddr.IPv6 | null;
  port: string;
}

function ownHostOf(url: URL): OwnHost {
  const literal = literalOf(url.hostname);
  const name = url.hostname.replace(/\.$/, '');
  return { name, literal: literal === null ? null : ipaddr.process(literal), port: portOf(url) };
}

const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Parses a CIDR, or an address as a range of one. */
function rangeOf(cidr: string): AddressRange {
  if (cidr.includes('/')) return ipaddr.parseCIDR(cidr);
  return ipaddr.parseCIDR(`${cidr}/${cidr.includes(':') ? 128 : 32}`);
}

function literalOf(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  // Not by ipaddr.js, which throws and catches internally for a name: 12 microseconds each.
  return isIPv4(hostname) ? hostname : null;
}

const refused = (reason: string): { allowed: false; reasons: string[] } => ({ allowed: false, reasons: [reason] });
