import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { addressKind, type AddressRange } from './address-kind.js';

/** Allowed, or why not, in words a tenant may read: they never name an address of ours. */
export type Verdict = { allowed: true } | { allowed: false; reasons: string[] };

/** What can be said of a URL without asking DNS. */
export type UrlVerdict =
  | {
      allowed: true;
      /** Parsed and normalized: no fragment, no final dot on the host. */
      url: URL;
      /** The address the host spells, or null where it is a name that must be resolved. */
      literal: string | null;
    }
  | { allowed: false; reasons: string[] };

export interface AddressRulesOptions {
  /** Hosted rules: HTTPS only and no private destination. */
  isHosted: boolean;
  /** CIDRs or addresses let through for tests and local trials, plain http included (`OUTBOUND_EXTRA_ALLOWED_CIDRS`). */
  extraAllowedCidrs?: readonly string[];
}

const MAX_HOST_LENGTH = 253;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** Reserved for local networks and clusters (`.cluster.local` is under `.local`); hosted, they can only be ours. */
const LOCAL_SUFFIXES = ['.internal', '.home.arpa', '.lan', '.localdomain', '.svc'];

/**
 * Which URLs a tenant may make us call.
 * The host is always judged after parsing, so that every spelling of an address is caught.
 * @see SPEC.md 8, CONTRACT.md 7
 */
export class AddressRules {
  readonly #isHosted: boolean;
  readonly #extraAllowed: readonly AddressRange[];

  /** @throws Error  when a CIDR does not parse */
  constructor({ isHosted, extraAllowedCidrs = [] }: AddressRulesOptions) {
    this.#isHosted = isHosted;
    this.#extraAllowed = extraAllowedCidrs.map(rangeOf);
  }

  get isHosted(): boolean {
    return this.#isHosted;
  }

  /** Scheme, port, name and, where the host is an address, that address. */
  checkUrl(text: string): UrlVerdict {
    const url = parsed(text);
    if (url === null) return refused('it is not a valid URL');
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused('only https is allowed');
    if (url.port === '0') return refused('port 0 is not a port');
    // Each setter parses anew, and this runs before every attempt.
    if (url.hash !== '') url.hash = '';
    const literal = literalOf(url.hostname);
    if (literal !== null) {
      const verdict = this.judgeAddresses(url, [literal]);
      return verdict.allowed ? { allowed: true, url, literal } : verdict;
    }
    const name = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname;
    // Before it is written back: the setter would read `127.0.0.1.`, left of two dots, as an address again.
    const reason = this.#refuseName(name);
    if (reason) return refused(reason);
    if (name !== url.hostname) url.hostname = name;
    // What may be plain http is known once the name is resolved; a hosted deployment needs no answer for that.
    if (url.protocol === 'http:' && this.#isHosted && this.#extraAllowed.length === 0) {
      return refused('only https is allowed');
    }
    return { allowed: true, url, literal };
  }

  /**
   * @param addresses  every answer for the host; one bad answer refuses them all
   */
  judgeAddresses(url: URL, addresses: readonly string[]): Verdict {
    if (addresses.length === 0) return refused('the host has no address');
    const kinds = addresses.map((address) => addressKind(address, this.#extraAllowed));
    const reasons = new Set<string>();
    if (kinds.includes('blocked')) reasons.add('the host is in a blocked address range');
    if (this.#isHosted && kinds.includes('private')) reasons.add('the host is in a private address range');
    const isPlain = url.protocol === 'http:';
    if (isPlain && this.#isHosted && kinds.some((kind) => kind !== 'extra')) reasons.add('only https is allowed');
    if (isPlain && !this.#isHosted && kinds.includes('public')) {
      reasons.add('plain http is allowed for private addresses only');
    }
    return reasons.size === 0 ? { allowed: true } : { allowed: false, reasons: [...reasons] };
  }

  #refuseName(host: string): string | null {
    if (host === 'localhost' || host.endsWith('.localhost')) return 'localhost is not allowed';
    if (host === 'local' || host.endsWith('.local')) return 'names under .local are not allowed';
    if (host.length > MAX_HOST_LENGTH || !host.split('.').every((label) => LABEL.test(label))) {
      return 'the host is not a valid name';
    }
    if (!this.#isHosted) return null;
    if (!host.includes('.')) return 'the host must be a full domain name';
    return LOCAL_SUFFIXES.some((suffix) => host.endsWith(suffix)) ? 'names of local networks are not allowed' : null;
  }
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** A bare address is a range of one. */
function rangeOf(cidr: string): AddressRange {
  if (cidr.includes('/')) return ipaddr.parseCIDR(cidr);
  return ipaddr.parseCIDR(`${cidr}/${cidr.includes(':') ? 128 : 32}`);
}

function literalOf(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  // Not ipaddr.js, which throws and catches on the way to a no: twelve microseconds for each name.
  return isIPv4(hostname) ? hostname : null;
}

const refused = (reason: string): { allowed: false; reasons: string[] } => ({ allowed: false, reasons: [reason] });
