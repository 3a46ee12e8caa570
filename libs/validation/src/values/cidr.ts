import ipaddr from 'ipaddr.js';

/** An address range, parsed once. */
export interface Cidr {
  readonly text: string;
  readonly range: [ipaddr.IPv4 | ipaddr.IPv6, number];
}

/** Reads `10.0.0.0/8`, `fd00::/8` or a bare address; null when it is neither. */
export function parseCidr(text: string): Cidr | null {
  try {
    if (text.includes('/')) return { text, range: ipaddr.parseCIDR(text) };
    const address = parseAddress(text);
    return address && { text, range: [address, address.kind() === 'ipv6' ? 128 : 32] };
  } catch {
    return null;
  }
}

/** Returns true when the address is inside one of the ranges. IPv4 inside IPv6 (`::ffff:10.0.0.1`) is read as IPv4. */
export function cidrsContain(cidrs: readonly Cidr[], address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === null) return false;
  return cidrs.some(({ range }) => range[0].kind() === parsed.kind() && parsed.match(range));
}

/** Returns null for text that is no address, and IPv4 for IPv4-mapped IPv6. IPv4 needs its four decimal parts. */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (text.includes(':')) return ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : null;
  return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text) : null;
}
