import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * What an address is to us: `extra` was let through by configuration, `private` is RFC 1918 or ULA,
 * `public` is on the Internet, `blocked` is never a destination.
 */
export type AddressKind = 'extra' | 'private' | 'public' | 'blocked';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type AddressRange = [Address, number];

/** Platform and metadata addresses that look like ordinary ones. */
const PLATFORM_ADDRESSES = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']);
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
const TRANSLATED = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * @param text  one IPv4 or IPv6 address, without brackets
 * @returns `blocked` for what is no address at all
 * @see CONTRACT.md 7
 */
export function addressKind(text: string, extraAllowed: readonly AddressRange[] = []): AddressKind {
  // A zone names an interface of this machine, and the loose IPv4 spellings belong to the URL parser.
  if (text.includes('%')) return 'blocked';
  if (isIPv4(text)) return kindOf(ipaddr.IPv4.parse(text), extraAllowed);
  if (isIPv6(text)) return kindOf(ipaddr.IPv6.parse(text), extraAllowed);
  return 'blocked';
}

function kindOf(address: Address, extraAllowed: readonly AddressRange[]): AddressKind {
  if (extraAllowed.some((range) => isWithin(address, range))) return 'extra';
  if (PLATFORM_ADDRESSES.has(address.toString())) return 'blocked';
  if (address instanceof ipaddr.IPv4) return kindOfIPv4(address);
  const inner = innerAddresses(address);
  if (inner.standIn) return combined(inner.addresses.map((one) => kindOf(one, extraAllowed)));
  const own = kindOfIPv6(address);
  return combined([own, ...inner.addresses.map((one) => kindOf(one, extraAllowed))]);
}

function kindOfIPv4(address: ipaddr.IPv4): AddressKind {
  const range = address.range();
  if (range === 'private') return 'private';
  return range === 'unicast' ? 'public' : 'blocked';
}

function kindOfIPv6(address: ipaddr.IPv6): AddressKind {
  if (address.range() === 'uniqueLocal') return 'private';
  // ipaddr.js calls all it does not know unicast, `::7f00:1` among it: only what IANA hands out is public.
  return address.range() === 'unicast' && isWithin(address, GLOBAL_UNICAST) ? 'public' : 'blocked';
}

/**
 * The IPv4 addresses an IPv6 address leads to. `standIn` means that it is judged by them alone
 * (mapped, NAT64, 6to4, Teredo); an ISATAP interface id is judged beside the address around it.
 */
function innerAddresses(address: ipaddr.IPv6): { standIn: boolean; addresses: ipaddr.IPv4[] } {
  const bytes = address.toByteArray();
  const at = (offset: number, mask = 0) => new ipaddr.IPv4(bytes.slice(offset, offset + 4).map((b) => b ^ mask));
  if (address.isIPv4MappedAddress() || isWithin(address, TRANSLATED)) return { standIn: true, addresses: [at(12)] };
  const range = address.range();
  if (range === '6to4') return { standIn: true, addresses: [at(2)] };
  // Teredo: the server in the clear, the client with every bit turned.
  if (range === 'teredo') return { standIn: true, addresses: [at(4), at(12, 0xff)] };
  const [, , , , high, low] = address.parts;
  const isIsatap = low === 0x5efe && (high === 0 || high === 0x200);
  return { standIn: false, addresses: isIsatap ? [at(12)] : [] };
}

/** Of an address that holds others. Private and public at once is no honest destination, and no rule fits it. */
function combined(kinds: AddressKind[]): AddressKind {
  const plain = kinds.filter((kind) => kind !== 'extra');
  const [first = 'extra'] = plain;
  return plain.every((kind) => kind === first) ? first : 'blocked';
}

function isWithin(address: Address, [base, bits]: AddressRange): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits);
  return base instanceof ipaddr.IPv6 && address.match(base, bits);
}
