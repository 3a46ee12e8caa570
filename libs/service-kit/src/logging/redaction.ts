const SECRET_NAMES =
  /^(authorization|proxy-authorization|cookie|set-cookie|x-api-key|x-service-csrf)$|password|passwd|token|secret|pepper|private_?key|api_?key|credential|key_?hash|(^|_)key$|[a-z]Key$/i;
const NOT_SECRET = /^(keyPrefix|keyId|tokenType|idempotencyKey|enrollmentKeyId|apiKeyId)$/;
const REDACTED = '[redacted]';
const MAX_DEPTH = 6;

/** A copy of a log object in which every field that sounds like a secret is blotted out. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date || Buffer.isBuffer(value)) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (value instanceof Error) return describeError(value, depth);
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const hide = SECRET_NAMES.test(name) && !NOT_SECRET.test(name) && field !== null && typeof field !== 'boolean';
    out[name] = hide ? REDACTED : redact(field, depth + 1);
  }
  return out;
}

/** Name, text, stack, cause and the fields that libraries add; never more than a log needs. */
function describeError(error: Error, depth: number): Record<string, unknown> {
  const extra = redact({ ...error }, depth + 1) as Record<string, unknown>;
  const cause = error.cause === undefined ? undefined : redact(error.cause, depth + 1);
  return { ...extra, type: error.name, message: error.message, stack: error.stack, ...(cause ? { cause } : {}) };
}
