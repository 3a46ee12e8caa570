import { setTimeout as sleep } from 'node:timers/promises';
import {
  OutboundFailed,
  OutboundTimeout,
  readRetryAfterMs,
  UnsafeAddress,
  type Outbound,
  type OutboundRequest,
  type OutboundResponse,
} from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { PsaCredentialsRejected, PsaFailed, PsaRequestRefused } from './psa.errors.js';
import { PSA_LIMITS } from './psa.limits.js';

/** The time of a listing is spent; what was read so far is shown. */
export class ListingTimeSpent extends Error {
  override readonly name = 'ListingTimeSpent';
}

/** The service stops; another replica goes on. */
export class ListingInterrupted extends Error {
  override readonly name = 'ListingInterrupted';
}

/** The PSA has no such path; some providers have another one in some editions. */
export class PsaPathUnknown extends PsaFailed {}

/** The PSA responded with status 400. */
export class PsaRefusedInput extends PsaFailed {}

export interface PsaRequest {
  /** A path below the base URL, or an address of `link`. */
  url: string;
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface PsaResponse {
  json: unknown;
  headers: OutboundResponse['headers'];
}

/** Returns headers with credentials. @param renew  asks for new ones, after the PSA refused the last ones */
export type Authorize = (http: PsaHttp, renew: boolean) => Promise<Record<string, string>> | Record<string, string>;

export interface PsaTime {
  clock: Clock;
  /** Time of all requests together. */
  timeMs: number;
  /** Ends the requests early, with ListingInterrupted. */
  signal?: AbortSignal;
}

/** The texts contain no address and nothing that the PSA sent. */
const TEXTS = {
  redirect: 'The PSA redirected the request',
  offOrigin: 'The PSA sent the address of a page outside of its own origin',
  tooLarge: 'The response of the PSA is too large',
  notJson: 'The response of the PSA is not JSON',
  credentials: 'The PSA refused the credentials',
  time: 'The PSA did not respond in time',
};

/**
 * Sends requests to one PSA: only to the origin of its base URL, without redirects, within the limits of one request and
 * the time of the whole listing. Requests that failed for a moment are repeated.
 */
export class PsaHttp {
  private readonly base: URL;
  private readonly clock: Clock;
  private readonly endMs: number;
  private readonly signal: AbortSignal | undefined;

  constructor(
    private readonly outbound: Pick<Outbound, 'request'>,
    baseUrl: string,
    private readonly authorize: Authorize,
    { clock, timeMs, signal }: PsaTime,
  ) {
    this.base = new URL(baseUrl);
    this.clock = clock;
    this.endMs = clock.monotonicMs() + timeMs;
    this.signal = signal;
  }

  /** Returns the address of a link that the PSA sent. @throws PsaRequestRefused  when it has another origin */
  link(text: string): string {
    if (!URL.canParse(text, this.base.href)) throw new PsaRequestRefused(TEXTS.offOrigin);
    return this.resolve(new URL(text, this.base).href);
  }

  /**
   * Sends a request with credentials. When the PSA refuses a token that expires, the request is repeated once with a new one.
   * @throws PsaRequestRefused, PsaFailed, ListingTimeSpent
   */
  async getJson(url: string, headers: Readonly<Record<string, string>> = {}): Promise<PsaResponse> {
    try {
      return await this.send({ url, headers: { ...headers, ...(await this.authorize(this, false)) } });
    } catch (error) {
      if (!(error instanceof PsaCredentialsRejected)) throw error;
      const renewed = await this.authorize(this, true);
      if (Object.keys(renewed).length === 0) throw error;
      return this.send({ url, headers: { ...headers, ...renewed } });
    }
  }

  /** Sends a request without adding credentials. @throws PsaRequestRefused, PsaFailed, ListingTimeSpent */
  async send({ url, method = 'GET', headers = {}, body }: PsaRequest): Promise<PsaResponse> {
    const target = this.resolve(url);
    let failures = 0;
    for (let attempt = 0; ; attempt += 1) {
      const isLast = failures >= PSA_LIMITS.retries;
      const response = await this.attempt({ url: target, method, headers, body }, isLast);
      if (response && !isRetried(response.status)) return toJson(response);
      // A PSA that limits requests works: only the time of the listing ends the waiting.
      if (response?.status !== 429) {
        if (isLast) throw failureOf(response?.status);
        failures += 1;
      }
      await this.wait(response, attempt);
    }
  }

  /** Returns the address of a path below the base URL, or rebuilds one of `link` on the stored origin. @throws PsaRequestRefused */
  private resolve(url: string): string {
    const path = `${this.base.pathname.replace(/\/$/, '')}${url}`;
    const target = new URL(url.startsWith('/') ? `${this.base.origin}${path}` : url);
    if (target.origin !== this.base.origin || target.username !== '' || target.password !== '') {
      throw new PsaRequestRefused(TEXTS.offOrigin);
    }
    return `${this.base.origin}${target.pathname}${target.search}`;
  }

  /** @returns null when the connection was lost */
  private async attempt(
    request: Pick<OutboundRequest, 'url' | 'method' | 'headers' | 'body'>,
    isLast: boolean,
  ): Promise<OutboundResponse | null> {
    const timeoutMs = Math.min(PSA_LIMITS.requestMs, this.remainingMs());
    if (timeoutMs <= 0) throw new ListingTimeSpent();
    const headers = { accept: 'application/json', 'user-agent': 'Service-PSA/1.0', ...request.headers };
    try {
      const sent = this.outbound.request({
        ...request,
        headers,
        timeoutMs,
        maxResponseBytes: PSA_LIMITS.responseBytes,
      });
      return await this.orInterrupted(sent);
    } catch (error) {
      if (error instanceof UnsafeAddress) throw new PsaRequestRefused(error.message, { cause: error });
      if (error instanceof OutboundTimeout) {
        // A timer may fire a moment before its time: the limit that applied decides, not the clock.
        if (timeoutMs < PSA_LIMITS.requestMs) throw new ListingTimeSpent();
        throw new PsaFailed(TEXTS.time, { cause: error });
      }
      if (!(error instanceof OutboundFailed)) throw error;
      if (isLast) throw new PsaFailed(`The PSA cannot be reached: ${error.message}`, { cause: error });
      return null;
    }
  }

  /** Waits as long as the PSA asks, else longer each time. @throws ListingTimeSpent  when that is longer than the rest of the time */
  private async wait(response: OutboundResponse | null, attempt: number): Promise<void> {
    const { firstWaitMs, longestWaitMs } = PSA_LIMITS;
    const grown = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(attempt, 10));
    const asked = response && readRetryAfterMs(response.headers['retry-after'], this.clock.nowMs());
    const waitMs = asked ?? grown / 2 + Math.random() * (grown / 2);
    if (waitMs >= this.remainingMs()) throw new ListingTimeSpent();
    await this.orInterrupted(sleep(waitMs, undefined, { ref: false }));
  }

  /** Returns the result of a step. @throws ListingInterrupted  when the signal ends the waiting for it */
  private async orInterrupted<T>(step: Promise<T>): Promise<T> {
    const { signal } = this;
    if (!signal) return step;
    let end = (): void => undefined;
    const ended = new Promise<never>((_resolve, reject) => (end = () => reject(new ListingInterrupted())));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      return await Promise.race([step, ended]);
    } finally {
      signal.removeEventListener('abort', end);
      step.catch(() => undefined); // what an interrupted request ends with is of no use
    }
  }

  private remainingMs(): number {
    return this.endMs - this.clock.monotonicMs();
  }
}

const isRetried = (status: number): boolean => status === 429 || (status >= 500 && status !== 501 && status !== 505);

function toJson({ status, headers, body, truncated }: OutboundResponse): PsaResponse {
  if (status >= 300 && status < 400) throw new PsaRequestRefused(TEXTS.redirect);
  if (status === 401 || status === 403) throw new PsaCredentialsRejected(TEXTS.credentials);
  if (status === 404 || status === 405) throw new PsaPathUnknown(`The PSA responded with status ${status}`);
  if (status === 400) throw new PsaRefusedInput(`The PSA responded with status ${status}`);
  if (status < 200 || status >= 300) throw failureOf(status);
  if (truncated) throw new PsaFailed(TEXTS.tooLarge);
  try {
    return { json: JSON.parse(body.toString('utf8').replace(/^\ufeff/, '')) as unknown, headers };
  } catch (cause) {
    throw new PsaFailed(TEXTS.notJson, { cause });
  }
}

const failureOf = (status: number | undefined): PsaFailed =>
  new PsaFailed(status === undefined ? 'The PSA cannot be reached' : `The PSA responded with status ${status}`);
