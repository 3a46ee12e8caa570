/** The body of an error response. Further fields depend on the code. */
interface ErrorBody {
  error?: string;
  message?: string;
  code?: string;
  requestId?: string;
  retryAfter?: number;
  details?: { fieldErrors?: Record<string, string[]> };
}

/** An error response of the API. Branch on `status` and `code`; texts may change. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** Stable code, such as `validation_failed`; `unknown` when a proxy answered instead of the fleet. */
  readonly code: string;
  /** Id of the request, for the support. */
  readonly requestId: string | undefined;
  /** Problems by the path of the field; only of 400 `validation_failed`. */
  readonly fieldErrors: Readonly<Record<string, readonly string[]>>;

  constructor(
    readonly status: number,
    /** The parsed body, or its text when it is not JSON. */
    readonly body: unknown,
    readonly headers: Headers,
    /** Method and path of the request. */
    readonly operation: string,
  ) {
    const error: ErrorBody = typeof body === 'object' && body !== null ? body : {};
    super(`${operation}: ${status} ${error.code ?? 'unknown'}: ${error.message ?? error.error ?? 'no message'}`);
    this.code = error.code ?? 'unknown';
    this.requestId = error.requestId ?? headers.get('x-request-id') ?? undefined;
    this.fieldErrors = error.details?.fieldErrors ?? {};
  }

  /** Seconds until the request may be sent again; undefined when the response does not say. */
  get retryAfterSeconds(): number | undefined {
    return retryAfterOf(this.headers);
  }
}

/** No response arrived: the connection failed or timed out. `cause` has the reason. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** Reads `Retry-After`, which is a number of seconds or a date. */
export function retryAfterOf(headers: Headers, nowMs: number = Date.now()): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - nowMs) / 1_000));
}
