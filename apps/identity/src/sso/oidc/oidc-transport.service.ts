import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { CustomFetch } from 'openid-client';
import { Outbound, OutboundFailed, OutboundTimeout } from '@rmm/outbound';

const MAX_RESPONSE_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 3;
/** For all calls of one login together: less than the time limit of a request. */
const BUDGET_MS = 8_000;
/** A single call may not use up the time of those that follow. */
const CALL_MS = 5_000;
const BODYLESS = new Set([101, 204, 205, 304]);
/** Parts of a request that name the client or the user: such a request never follows a redirect. */
const CREDENTIALS = /^(authorization|cookie|dpop)$/i;

/**
 * Calls identity providers through the client for URLs of tenants: addresses are checked for each call and each redirect,
 * time and size are limited. @see docs/reference/outbound.md
 */
@Injectable()
export class OidcTransport implements OnApplicationShutdown {
  constructor(private readonly outbound: Outbound) {}

  onApplicationShutdown(): Promise<void> {
    return this.outbound.close();
  }

  /** @throws UnsafeAddress with the reasons */
  assertAllowed(url: string): Promise<void> {
    return this.outbound.assertAllowed(url);
  }

  /** Returns a `fetch` whose calls share one time budget. */
  openFetch(budgetMs = BUDGET_MS): CustomFetch {
    const endsAtMs = performance.now() + budgetMs;
    return async (url, { method, headers, body }) => {
      const sent = { method, headers, body: bodyOf(body) };
      const mayRedirect = method === 'GET' && !Object.keys(headers).some((name) => CREDENTIALS.test(name));
      let target = url;
      for (let hops = 0; ; hops += 1) {
        const response = await this.call(target, sent, endsAtMs);
        const next = mayRedirect ? locationOf(response, target) : null;
        if (next === null) return response;
        if (hops === MAX_REDIRECTS) throw new OutboundFailed('Too many redirects', null);
        target = next;
      }
    };
  }

  private async call(
    url: string,
    request: { method: string; headers: Record<string, string>; body: string | undefined },
    endsAtMs: number,
  ): Promise<Response> {
    const timeoutMs = Math.min(CALL_MS, Math.floor(endsAtMs - performance.now()));
    if (timeoutMs <= 0) throw new OutboundTimeout(BUDGET_MS);
    const { method, headers, body } = request;
    const received = await this.outbound.request({
      ...{ url, headers, body, timeoutMs, maxResponseBytes: MAX_RESPONSE_BYTES },
      method,
    });
    if (received.truncated) throw new OutboundFailed('The response is larger than 1 MB', null);
    if (received.status < 200 || received.status > 599) throw new OutboundFailed('Unexpected HTTP status', null);
    const flat = Object.entries(received.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as [string, string]],
    );
    return new Response(BODYLESS.has(received.status) ? null : new Uint8Array(received.body), {
      status: received.status,
      headers: flat,
    });
  }
}

function bodyOf(body: Parameters<CustomFetch>[1]['body']): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError('unsupported kind of request body');
}

function locationOf(response: Response, base: string): string | null {
  if (![301, 302, 303, 307, 308].includes(response.status)) return null;
  const location = response.headers.get('location');
  return location !== null && URL.canParse(location, base) ? new URL(location, base).href : null;
}
