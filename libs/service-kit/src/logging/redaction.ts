/** Names of fields whose values are secrets, by their last word. Log lines and audit details share this list. */
export const SECRET_NAMES = new RegExp(
  [
    '(?:',
    'password|passwd|passphrase|secret|pepper|token|authorization|cookie|csrf|credentials?|otp|totp',
    '|recovery[-_]?codes?|mfa[-_]?code|html|mail[-_]?body|mail[-_]?text',
    '|(?:^|[-_])key|(?:access|api|encryption|enrollment|hmac|master|partner|plain|private|raw|secret|signing)[-_]?key',
    ')(?:[-_]?(?:hash|sealed|ring))?$|key[-_]?hash$',
  ].join(''),
  'i',
);
const REDACTED = '[redacted]';
const MAX_DEPTH = 6;

/** Returns a copy of a log object without the values of secret names; flags and counts are kept. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date || Buffer.isBuffer(value)) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (value instanceof Error) return describeError(value, depth);
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const isSecret =
      SECRET_NAMES.test(name) && field !== null && typeof field !== 'boolean' && typeof field !== 'number';
    out[name] = isSecret ? REDACTED : redact(field, depth + 1);
  }
  return out;
}

/** Fields of database errors that contain the statement, its parameters or the values of a row: data of customers. */
const ROW_DATA = new Set(['query', 'parameters', 'detail', 'where', 'internalQuery']);

/** Returns the name, text, stack, cause and library fields of an error, without the data of rows. */
function describeError(error: Error, depth: number): Record<string, unknown> {
  const fields = Object.entries(error).filter(([name]) => !ROW_DATA.has(name));
  const extra = redact(Object.fromEntries(fields), depth + 1) as Record<string, unknown>;
  const cause = error.cause === undefined ? undefined : redact(error.cause, depth + 1);
  return { ...extra, type: error.name, message: error.message, stack: error.stack, ...(cause ? { cause } : {}) };
}
