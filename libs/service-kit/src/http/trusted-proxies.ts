import type { IncomingMessage } from 'node:http';
import { cidrsContain, parseAddress, type Cidr } from '../config/cidr.js';

type Source = Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string; encrypted?: boolean } };

/** Peers whose verdict is remembered; there are few proxies and many requests. */
const MAX_REMEMBERED = 10_000;

/** Who is really calling, when forwarding headers may only be believed from some peers. */
export class TrustedProxies {
  private readonly verdicts = new Map<string, boolean>();

  constructor(private readonly cidrs: readonly Cidr[]) {}

  /**
   * The right-most address of `X-Forwarded-For` (else `X-Real-IP`) that is no trusted proxy, the left-most where all are,
   * and only when the peer itself is one; otherwise the peer.
   */
  clientAddress(request: Source): string | undefined {
    const peer = plain(request.socket.remoteAddress);
    if (peer === undefined || !this.trusts(peer)) return peer;
    const hops = hopsOf(request.headers);
    for (let index = hops.length - 1; index >= 0; index--) {
      const address = addressOf(hops[index]);
      if (address === undefined) return lastTrusted(hops, index) ?? peer;
      if (!this.trusts(address) || index === 0) return address;
    }
    return peer;
  }

  /** HTTPS to us, or `X-Forwarded-Proto: https` said by a trusted peer. */
  isSecure(request: Source): boolean {
    if (request.socket.encrypted) return true;
    const proto = request.headers['x-forwarded-proto'];
    if (typeof proto !== 'string') return false;
    const peer = plain(request.socket.remoteAddress);
    return peer !== undefined && this.trusts(peer) && proto.split(',').at(-1)?.trim().toLowerCase() === 'https';
  }

  private trusts(address: string): boolean {
    if (this.cidrs.length === 0) return false;
    let verdict = this.verdicts.get(address);
    if (verdict === undefined) {
      verdict = cidrsContain(this.cidrs, address);
      if (this.verdicts.size >= MAX_REMEMBERED) this.verdicts.clear();
      this.verdicts.set(address, verdict);
    }
    return verdict;
  }
}

function hopsOf(headers: IncomingMessage['headers']): string[] {
  const forwarded = headers['x-forwarded-for'];
  const text = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
  if (text) return text.split(',');
  const real = headers['x-real-ip'];
  return typeof real === 'string' ? [real] : [];
}

/** A hop that is no address ends the chain: what stands left of it was not written by a proxy we trust. */
function lastTrusted(hops: string[], brokenAt: number): string | undefined {
  return brokenAt + 1 < hops.length ? addressOf(hops[brokenAt + 1]) : undefined;
}

/** `1.2.3.4`, `1.2.3.4:5678`, `::1`, `[::1]:5678`. */
function addressOf(hop: string): string | undefined {
  const text = hop.trim();
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  return parseAddress(bare)?.toString();
}

/** The socket says `::ffff:127.0.0.1` where IPv4 comes in over a dual-stack listener. */
function plain(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7);
  return address;
}
