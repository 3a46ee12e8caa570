import ipaddr from 'ipaddr.js';
import { isIPv4, isIPv6 } from 'node:net';

/**
 * Classification of an address: `extra` is allowed by configuration, `private` is RFC 1918 or ULA, `public` is on the
 * Internet, `blocked` is never allowed.
 */
export type AddressKind = 'extra' | 'private' | 'public' | 'blocked';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type AddressRange = [Address, number];

/** Addresses of cloud platforms and metadata services outside the special-purpose ranges. */
const PLATFORM_ADDRESSES = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']);
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
const TRANSLATED = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Ranges that the configuration adds to the rules. */
export interface ConfiguredRanges {
  extraAllowed?: readonly AddressRange[];
  /** Wins over `extraAllowed`. */
  blocked?: readonly AddressRange[];
}

/**
 * Classifies an address.
 * @param text  one IPv4 or IPv6 address, without brackets
 * @returns `blocked` also for a text that is no address
 */
export function addressKind(text: string, ranges: ConfiguredRanges = {}): AddressKind {
  // A zone names an interface of this machine. Other notations of IPv4 are normalized by the URL parser before.
  if (text.includes('%')) return 'blocked';
  if (isIPv4(text)) return kindOf(ipaddr.IPv4.parse(text), ranges);
  if (isIPv6(text)) return kindOf(ipaddr.IPv6.parse(text), ranges);
  return 'blocked';
}

function kindOf(address: Address, ranges: ConfiguredRanges): AddressKind {
  if (ranges.blocked?.some((range) => isWithin(address, range))) return 'blocked';
  if (ranges.extraAllowed?.some((range) => isWithin(address, range))) return 'extra';
  if (PLATFORM_ADDRESSES.has(address.toString())) return 'blocked';
  if (address instanceof ipaddr.IPv4) return kindOfIPv4(address);
  const inner = innerAddresses(address);
  if (inner.embeddedOnly) return mergeKinds(inner.addresses.map((one) => kindOf(one, ranges)));
  const own = kindOfIPv6(address);
  return mergeKinds([own, ...inner.addresses.map((one) => kindOf(one, ranges))]);
}

function kindOfIPv4(address: ipaddr.IPv4): AddressKind {
  const range = address.range();
  if (range === 'private') return 'private';
  return range === 'unicast' ? 'public' : 'blocked';
}

function kindOfIPv6(address: ipaddr.IPv6): AddressKind {
  if (address.range() === 'uniqueLocal') return 'private';
  // ipaddr.js calls every unknown range unicast (`::7f00:1`); only the range that IANA allocates is public.
  return address.range() === 'unicast' && isWithin(address, GLOBAL_UNICAST) ? 'public' : 'blocked';
}

/**
 * Returns the IPv4 addresses embedded in an IPv6 address. `embeddedOnly` means that only they
 * are checked (mapped, NAT64, 6to4, Teredo); with an ISATAP interface id the IPv6 address is checked too.
 */
function innerAddresses(address: ipaddr.IPv6): { embeddedOnly: boolean; addresses: ipaddr.IPv4[] } {
  const bytes = address.toByteArray();
  const at = (offset: number, mask = 0) => new ipaddr.IPv4(bytes.slice(offset, offset + 4).map((b) => b ^ mask));
  if (address.isIPv4MappedAddress() || isWithin(address, TRANSLATED))
    return { embeddedOnly: true, addresses: [at(12)] };
  const range = address.range();
  if (range === '6to4') return { embeddedOnly: true, addresses: [at(2)] };
  // Teredo contains the server's address in plain form and the client's with every bit inverted.
  if (range === 'teredo') return { embeddedOnly: true, addresses: [at(4), at(12, 0xff)] };
  const [, , , , high, low] = address.parts;
  const isIsatap = low === 0x5efe && (high === 0 || high === 0x200);
  return { embeddedOnly: false, addresses: isIsatap ? [at(12)] : [] };
}

/** Merges the kinds of all embedded addresses; returns `blocked` when they differ. */
function mergeKinds(kinds: AddressKind[]): AddressKind {
  const plain = kinds.filter((kind) => kind !== 'extra');
  const [first = 'extra'] = plain;
  return plain.every((kind) => kind === first) ? first : 'blocked';
}

function isWithin(address: Address, [base, bits]: AddressRange): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits);
  return base instanceof ipaddr.IPv6 && address.match(base, bits);
}
