/** The kinds of errors and their HTTP statuses. */
export const ERROR_STATUS = {
  bad_request: 400,
  validation: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  precondition_required: 428,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  not_implemented: 501,
  upstream: 502,
  unavailable: 503,
} as const;

export type ErrorKind = keyof typeof ERROR_STATUS;
export type FieldErrors = Record<string, string[]>;

export interface DomainErrorOptions {
  /** Additional fields of the body: `retryAfter`, `required`, `allowedMethods` and the like. */
  extras?: Record<string, unknown>;
  /** A sentence for users; the short text is used when it is absent. */
  message?: string;
  /** Paths dotted, `rows.3.timezone`. */
  fieldErrors?: FieldErrors;
  /** Whole seconds; becomes the header `Retry-After`. */
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  /** For the log only, never for the caller. */
  logDetails?: Record<string, unknown>;
  cause?: unknown;
}

/**
 * An error the caller may read: a stable `code`, a short text, a status by its kind.
 * Features extend the concrete classes and override `code` and `error`.
 * @see docs/reference/errors.md
 */
export abstract class DomainError extends Error {
  abstract readonly kind: ErrorKind;
  /** snake_case; clients branch on it. */
  abstract code: string;
  /** Short English text for the caller. */
  abstract error: string;
  readonly extras?: Record<string, unknown>;
  readonly sentence?: string;
  readonly fieldErrors?: FieldErrors;
  readonly retryAfterSeconds?: number;
  readonly headers?: Record<string, string>;
  readonly logDetails?: Record<string, unknown>;

  /** @param given  the short text; without it the text of the class */
  constructor(
    readonly given?: string,
    options: DomainErrorOptions = {},
  ) {
    super(given, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.extras = options.extras;
    this.sentence = options.message;
    this.fieldErrors = options.fieldErrors;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers;
    this.logDetails = options.logDetails;
  }

  get status(): number {
    return ERROR_STATUS[this.kind];
  }
}
