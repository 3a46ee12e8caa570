import { parseAddress, parseCidr, type Cidr } from '@rmm/validation';

const MAPPED_PREFIX = 96;

/**
 * Returns the canonical form of an address or range: `10.1.2.3/8` becomes `10.0.0.0/8`, `2001:DB8::1` becomes `2001:db8::1`, a range
 * of IPv4 addresses inside IPv6 becomes the IPv4 range. Addresses stay addresses.
 * @returns null for any other text, such as short or octal forms of IPv4 addresses, or zones
 */
export function canonicalRange(text: string): string | null {
  const [address = '', prefix, ...rest] = text.trim().split('/');
  if (rest.length > 0 || address.includes('%')) return null;
  const parsed = parseAddress(address);
  if (parsed === null) return null;
  if (prefix === undefined) return parsed.toString();
  const range = /^\d{1,3}$/.test(prefix) ? parseCidr(`${address}/${prefix}`) : null;
  return range && networkOf(range);
}

function networkOf({ range: [address, given] }: Cidr): string | null {
  const bytes = address.toByteArray();
  if (!isMapped(bytes)) return rangeText(bytes, given);
  return given < MAPPED_PREFIX ? null : rangeText(bytes.slice(12), given - MAPPED_PREFIX);
}

const isMapped = (bytes: number[]): boolean =>
  bytes.length === 16 && bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;

function rangeText(bytes: number[], prefix: number): string {
  const network = bytes.map((byte, index) => byte & maskOf(prefix - index * 8));
  return `${textOf(network)}/${prefix}`;
}

/** Returns the mask of one byte that keeps so many leading bits. */
const maskOf = (bits: number): number => (bits >= 8 ? 255 : bits <= 0 ? 0 : (255 << (8 - bits)) & 255);

function textOf(bytes: number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] << 8) | bytes[index * 2 + 1]).toString(16));
  return parseAddress(groups.join(':'))?.toString() ?? '';
}
