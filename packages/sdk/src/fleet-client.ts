import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, ConnectionError, retryAfterOf } from './api-error.js';
import { type DeprecationNotice, deprecationNoticeOf, emitDeprecation } from './deprecation.js';
import { type ListPath, type ListRecord, listRecords } from './lists.js';
import type { ApiPath, Method, OptionArguments, RequestOptions, ResponseBody, UntypedOptions } from './operations.js';
import { PartnerExport, type PartnerExportOptions, type PartnerExportPath } from './partner-export.js';
import { createUrl } from './urls.js';

/** An access token (or a function that returns the current one), or a key. Without either, calls have no credential. */
export type Credentials = { bearer: string | (() => string | Promise<string>) } | { apiKey: string } | undefined;

export interface ClientOptions {
  /** The address of the fleet, without `/api/v1`: `https://api.example.com`. */
  baseUrl: string;
  credentials?: Credentials;
  /** Repeats of a call after 429, 503 or a failed connection; 3 by default. */
  retries?: number;
  /** The longest wait for one repeat; a longer `Retry-After` ends the call. 60 s by default. */
  maxRetryDelayMs?: number;
  /** The longest wait for one response; 30 s by default. */
  timeoutMs?: number;
  /** Called once for each operation that the fleet marks as deprecated; a warning of the process by default. */
  onDeprecation?: (notice: DeprecationNotice) => void;
  /** Replaces `fetch` of the runtime, for proxies and tests. */
  fetch?: typeof fetch;
  /** Replaces the wait between repeats, for tests. */
  wait?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
}

export interface ApiResponse<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

const FIRST_DELAY_MS = 500;
const SAFE_METHODS: readonly string[] = ['get', 'put', 'delete'];

/**
 * Client of the API of a fleet. Paths, parameters and bodies are typed by the OpenAPI document.
 *
 * A call is repeated after 429, and after 503 or a failed connection when a repeat has no further effect: GET, PUT,
 * DELETE, and calls with an idempotency key. `Retry-After` of the response decides how long it waits.
 */
export class FleetClient {
  private readonly options: Required<Omit<ClientOptions, 'credentials'>> & Pick<ClientOptions, 'credentials'>;
  private noticed = new Set<string>();

  constructor(options: ClientOptions) {
    this.options = {
      retries: 3,
      maxRetryDelayMs: 60_000,
      timeoutMs: 30_000,
      onDeprecation: emitDeprecation,
      fetch: (...request) => fetch(...request),
      wait: (ms, signal) => sleep(ms, undefined, { signal }),
      ...options,
    };
  }

  /** Returns a client with the same settings and other credentials. */
  as(credentials: Credentials): FleetClient {
    const client = new FleetClient({ ...this.options, credentials });
    client.noticed = this.noticed;
    return client;
  }

  get<Path extends ApiPath<'get'>>(path: Path, ...options: OptionArguments<'get', Path>) {
    return this.bodyOf<'get', Path>('get', path, options[0]);
  }

  post<Path extends ApiPath<'post'>>(path: Path, ...options: OptionArguments<'post', Path>) {
    return this.bodyOf<'post', Path>('post', path, options[0]);
  }

  put<Path extends ApiPath<'put'>>(path: Path, ...options: OptionArguments<'put', Path>) {
    return this.bodyOf<'put', Path>('put', path, options[0]);
  }

  patch<Path extends ApiPath<'patch'>>(path: Path, ...options: OptionArguments<'patch', Path>) {
    return this.bodyOf<'patch', Path>('patch', path, options[0]);
  }

  delete<Path extends ApiPath<'delete'>>(path: Path, ...options: OptionArguments<'delete', Path>) {
    return this.bodyOf<'delete', Path>('delete', path, options[0]);
  }

  /** Calls an operation and returns status and headers too. @throws ApiError, ConnectionError */
  async request<M extends Method, Path extends ApiPath<M>>(
    method: M,
    path: Path,
    ...options: OptionArguments<M, Path>
  ): Promise<ApiResponse<ResponseBody<M, Path>>> {
    const response = await this.send(method, path, options[0] ?? {});
    return response as ApiResponse<ResponseBody<M, Path>>;
  }

  /**
   * Returns all records of a list, page by page as they are read: by cursor where the list has one and the query names no
   * `page`. Records that are created or deleted meanwhile may be missing or appear twice in lists that are read by number.
   */
  list<Path extends ListPath>(path: Path, options?: RequestOptions<'get', Path>): AsyncGenerator<ListRecord<Path>> {
    const first: UntypedOptions = options ?? {};
    const read = async (query: UntypedOptions['query']) => (await this.send('get', path, { ...first, query })).body;
    const records = listRecords(path, read, first.query);
    return records as AsyncGenerator<ListRecord<Path>>;
  }

  /**
   * Reads an export of the partner interface: every record once, as of one moment. Give `updatedSince` for the changes
   * since the `snapshotAt` of an earlier export.
   */
  export<Path extends PartnerExportPath>(path: Path, options: PartnerExportOptions = {}): PartnerExport<Path> {
    return new PartnerExport<Path>(async (query) => {
      const { body } = await this.send('get', path, { query, signal: options.signal });
      return body as never;
    }, options);
  }

  private async bodyOf<M extends Method, Path extends ApiPath<M>>(
    method: M,
    path: Path,
    options: UntypedOptions | undefined,
  ): Promise<ResponseBody<M, Path>> {
    const { body } = await this.send(method, path, options ?? {});
    return body as ResponseBody<M, Path>;
  }

  private async send(method: Method, path: string, options: UntypedOptions): Promise<ApiResponse<unknown>> {
    const operation = `${method.toUpperCase()} ${path}`;
    const isRepeatable = SAFE_METHODS.includes(method) || options.idempotencyKey !== undefined;
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt >= this.options.retries;
      const headers = await this.headersOf(options);
      const outcome = await this.attempt(method, path, headers, options).catch((cause: unknown) => {
        options.signal?.throwIfAborted();
        if (isLast || !isRepeatable) throw new ConnectionError(`${operation}: no response`, { cause });
        return null;
      });
      if (outcome !== null) this.noticeDeprecation(operation, outcome.headers);
      if (outcome !== null && outcome.status < 400) return outcome;
      const isRefused = outcome?.status === 429 || (isRepeatable && outcome?.status === 503);
      const delayMs = this.delayOf(outcome?.headers, attempt);
      if (outcome !== null && (isLast || !isRefused || delayMs > this.options.maxRetryDelayMs)) {
        throw new ApiError(outcome.status, outcome.body, outcome.headers, operation);
      }
      await this.options.wait(delayMs, options.signal);
    }
  }

  private noticeDeprecation(operation: string, headers: Headers): void {
    const notice = deprecationNoticeOf(operation, headers);
    if (notice === undefined || this.noticed.has(operation)) return;
    this.noticed.add(operation);
    this.options.onDeprecation(notice);
  }

  /** Waits as the response says; without that twice as long each time, varied so that clients do not come together. */
  private delayOf(headers: Headers | undefined, attempt: number): number {
    const seconds = headers && retryAfterOf(headers);
    if (seconds !== undefined) return seconds * 1_000;
    const delayMs = FIRST_DELAY_MS * 2 ** attempt * (0.5 + Math.random() / 2);
    return Math.min(delayMs, this.options.maxRetryDelayMs);
  }

  private async attempt(
    method: Method,
    path: string,
    headers: Record<string, string>,
    options: UntypedOptions,
  ): Promise<ApiResponse<unknown>> {
    const { baseUrl, timeoutMs } = this.options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const { body } = options;
    const response = await this.options.fetch(createUrl(baseUrl, path, options.path, options.query), {
      method: method.toUpperCase(),
      headers,
      body: body === undefined || body instanceof FormData ? body : JSON.stringify(body),
      redirect: 'manual',
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    });
    return { status: response.status, headers: response.headers, body: await bodyOf(response) };
  }

  private async headersOf({ headers, body, idempotencyKey }: UntypedOptions): Promise<Record<string, string>> {
    const { credentials } = this.options;
    return {
      accept: 'application/json',
      ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(credentials && (await credentialHeader(credentials))),
      ...headers,
    };
  }
}

async function credentialHeader(credentials: NonNullable<Credentials>): Promise<Record<string, string>> {
  if ('apiKey' in credentials) return { 'x-api-key': credentials.apiKey };
  const { bearer } = credentials;
  return { authorization: `Bearer ${typeof bearer === 'string' ? bearer : await bearer()}` };
}

/** Returns parsed JSON, the text of another text, bytes of anything else, undefined without a body. */
async function bodyOf(response: Response): Promise<unknown> {
  if (response.status === 204 || response.status === 304) return undefined;
  const mediaType = response.headers.get('content-type') ?? '';
  if (/^application\/octet-stream|^image\//.test(mediaType)) return response.arrayBuffer();
  const text = await response.text();
  if (!/^application\/(?:[\w.]+\+)?json\b/.test(mediaType)) return text === '' ? undefined : text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
