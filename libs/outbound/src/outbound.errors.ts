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

/** The whole exchange did not end within its time. */
export class OutboundTimeout extends Error {
  override readonly name = 'OutboundTimeout';

  constructor(readonly timeoutMs: number) {
    super(`Timeout after ${timeoutMs} ms`);
  }
}

/** The network or the other side's HTTP failed. The message carries no address. */
export class OutboundFailed extends Error {
  override readonly name = 'OutboundFailed';

  constructor(
    message: string,
    /** As Node or undici names it: `ECONNREFUSED`, `UND_ERR_SOCKET`. */
    readonly code: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Words for the tenant: Node puts addresses and ports of what it tried into its messages. */
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

/** Of the handshake, and of the certificate: the latter as the chapter "X509 certificate error codes" of Node lists them. */
const TLS_CODE =
  /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|CRL_|DEPTH_ZERO|ERROR_IN_C|HOSTNAME_|INVALID_(CA|PURPOSE)$|PATH_LENGTH|SELF_SIGNED|UNABLE_TO_)/;

/** Turns whatever undici threw into one of the errors above. */
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
