/** The URL may not be called; nothing was sent. `reasons` may be shown to the tenant. */
export class UnsafeAddress extends Error {
  override readonly name = 'UnsafeAddress';

  constructor(
    readonly reasons: readonly string[],
    options?: ErrorOptions,
  ) {
    super(reasons.join('; '), options);
  }
}

/** The request did not complete within its time limit. */
export class OutboundTimeout extends Error {
  override readonly name = 'OutboundTimeout';

  constructor(readonly timeoutMs: number) {
    super(`Timeout after ${timeoutMs} ms`);
  }
}

/** The network failed, or the other side sent malformed HTTP. The message contains no address. */
export class OutboundFailed extends Error {
  override readonly name = 'OutboundFailed';

  constructor(
    message: string,
    /** Error code of Node or undici: `ECONNREFUSED`, `UND_ERR_SOCKET`. */
    readonly code: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Messages for the tenant, because those of Node contain addresses and ports. */
const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Connection refused',
  ECONNRESET: 'Connection reset',
  EPIPE: 'Connection reset',
  EHOSTUNREACH: 'Host unreachable',
  ENETUNREACH: 'Network unreachable',
  ETIMEDOUT: 'Connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'Connection timed out',
  UND_ERR_SOCKET: 'Connection closed by the other side',
  UND_ERR_HEADERS_OVERFLOW: 'Response headers too large',
};

/** Codes of failed handshakes and certificates; for the latter see "X509 certificate error codes" in the docs of Node. */
const TLS_CODE =
  /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|CRL_|DEPTH_ZERO|ERROR_IN_C|HOSTNAME_|INVALID_(CA|PURPOSE)$|PATH_LENGTH|SELF_SIGNED|UNABLE_TO_)/;

/** Maps an error of undici or Node to one of the errors above. */
export function asOutboundError(error: unknown): Error {
  if (error instanceof UnsafeAddress || error instanceof OutboundTimeout || error instanceof OutboundFailed) {
    return error;
  }
  const code = codeOf(error);
  const isTls = code !== null && TLS_CODE.test(code);
  const isHttp = error instanceof Error && error.name === 'HTTPParserError';
  const text = isTls ? `TLS failed (${code})` : isHttp ? 'Malformed HTTP response' : code && TEXTS[code];
  return new OutboundFailed(text || `Network error${code ? ` (${code})` : ''}`, code, { cause: error });
}

function codeOf(error: unknown): string | null {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
