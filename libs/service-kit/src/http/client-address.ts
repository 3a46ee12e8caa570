import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { isIPv4 } from 'node:net';
import { cidrsContain, parseAddress, type Cidr } from '@rmm/validation';

/** Returns the function of Express's `trust proxy`: whether a peer may forward addresses. */
export function trustProxies(cidrs: readonly Cidr[]): (address: string) => boolean {
  if (cidrs.length === 0) return () => false;
  const known = new LRUCache<string, boolean>({ max: 10_000, memoMethod: (address) => cidrsContain(cidrs, address) });
  return (hop) => known.memo(addressOf(hop) ?? '');
}

/**
 * Returns the right-most address of `X-Forwarded-For` (else `X-Real-IP`) that is no trusted proxy, the left-most where
 * all are, and only when the peer itself is trusted; otherwise the peer. A hop that is no address ends the chain.
 */
export function resolveClientAddress(
  request: Pick<Request, 'headers' | 'ips' | 'socket'>,
  isPeerTrusted: boolean,
): string | undefined {
  const { remoteAddress } = request.socket;
  const peer = remoteAddress && (addressOf(remoteAddress) ?? remoteAddress);
  if (!isPeerTrusted) return peer;
  const { 'x-forwarded-for': forwarded, 'x-real-ip': real } = request.headers;
  if (forwarded === undefined) return (typeof real === 'string' ? addressOf(real) : undefined) ?? peer;
  for (const hop of request.ips) {
    const address = addressOf(hop);
    if (address !== undefined) return address;
  }
  return peer;
}

/** An address with brackets and a port is at most 53 characters long. */
const MAX_HOP_LENGTH = 64;

/** Parsing an IPv6 address takes a twentieth of the CPU of a small request; most requests come over a few proxies. */
const knownAddresses = new LRUCache<string, string>({
  max: 10_000,
  memoMethod: (hop) => parseHop(hop) ?? '',
});

/** Returns undefined for what is no address; only short texts are remembered, since anyone may send long ones. */
function addressOf(hop: string): string | undefined {
  return hop.length > MAX_HOP_LENGTH ? undefined : knownAddresses.memo(hop) || undefined;
}

/** Reads `1.2.3.4`, `1.2.3.4:5678`, `::1`, `[::1]:5678`; IPv4 inside IPv6, as dual-stack sockets have it, is read as IPv4. */
function parseHop(hop: string): string | undefined {
  const text = hop.trim();
  if (isIPv4(text)) return text;
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  return parseAddress(bare)?.toString();
}
