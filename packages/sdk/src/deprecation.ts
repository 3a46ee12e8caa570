/** The deprecation of an operation, as a response declares it. */
export interface DeprecationNotice {
  /** `POST /auth/register` */
  operation: string;
  since?: Date;
  /** From then on the operation may be gone. */
  sunset?: Date;
  message: string;
}

/** Reads `Deprecation` (RFC 9745) and `Sunset` (RFC 8594); undefined when the operation is not deprecated. */
export function deprecationNoticeOf(operation: string, headers: Headers): DeprecationNotice | undefined {
  const deprecation = headers.get('deprecation');
  if (deprecation === null) return undefined;
  const seconds = /^@(-?\d{1,12})$/.exec(deprecation.trim())?.[1];
  const since = dateOf(seconds === undefined ? undefined : Number(seconds) * 1_000);
  const sunset = dateOf(Date.parse(headers.get('sunset') ?? ''));
  const from = since ? ` since ${dayOf(since)}` : '';
  const until = sunset ? ` and may be gone from ${dayOf(sunset)}` : '';
  return { operation, since, sunset, message: `${operation} is deprecated${from}${until}` };
}

/** Emits a warning of the process, which `--no-deprecation` turns off. */
export function emitDeprecation({ message }: DeprecationNotice): void {
  process.emitWarning(message, { type: 'DeprecationWarning', code: 'RMM_DEPRECATED' });
}

const dateOf = (ms: number | undefined): Date | undefined =>
  ms === undefined || Number.isNaN(ms) ? undefined : new Date(ms);

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);
