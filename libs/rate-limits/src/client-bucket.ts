import { createHash } from 'node:crypto';
import { parseAddress } from '@rmm/validation';

/** Returns the key of a limit per address: IPv4 as it is, IPv6 by its /64. */
export function addressBucket(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = parseAddress(address);
  if (parsed === null || parsed.kind() === 'ipv4') return parsed?.toString() ?? address;
  return `${parsed.toNormalizedString().split(':', 4).join(':')}::/64`;
}

/** Returns the bucket of a client: its address, else a fingerprint of user agent, language and origin. */
export function clientBucket(client: {
  address?: string;
  headers: Record<string, string | string[] | undefined>;
}): string {
  if (client.address !== undefined) return addressBucket(client.address);
  const { 'user-agent': agent, 'accept-language': language, origin } = client.headers;
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([agent, language, origin]))
    .digest('base64url');
  return `print-${fingerprint.slice(0, 22)}`;
}
