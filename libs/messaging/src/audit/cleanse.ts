const HIDDEN = '[removed]';
const MAX_DEPTH = 6;
const MAX_TEXT = 2_000;

/** Names whose value never stands in an audit row: the last word says what the value is. */
const SECRET_NAME =
  /(password|passphrase|secret|token|authorization|cookie|credentials?|otp|totp|recoverycodes?|mfacode|(api|private|raw|enrollment|access|secret|signing|plain)[-_]?key|keyhash|html|mailbody|mailtext)$/i;
/** Values that are secrets whatever they are called: our keys and tokens, JWTs, bearer headers. */
const SECRET_VALUE =
  /\b(svc_[A-Za-z0-9_-]{16,}|agt_[A-Za-z0-9_-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|Bearer\s+\S{8,}|[0-9a-f]{64})/g;

/**
 * Audit details without passwords, tokens, secrets and mail bodies, whatever the caller put in.
 * Numbers and booleans stay (`secretRotated: true`); long texts are cut.
 * @see CONTRACT.md 9
 */
export function cleanse(details: Record<string, unknown>): Record<string, unknown> {
  return cleanseObject(details, 0);
}

function cleanseObject(object: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, isSecret(name, value) ? HIDDEN : cleanseValue(value, depth + 1)]),
  );
}

const isSecret = (name: string, value: unknown): boolean =>
  SECRET_NAME.test(name) && value !== null && typeof value !== 'number' && typeof value !== 'boolean';

function cleanseValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT).replace(SECRET_VALUE, HIDDEN);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object' || Buffer.isBuffer(value) || depth > MAX_DEPTH) return HIDDEN;
  return Array.isArray(value) ? value.map((each) => cleanseValue(each, depth + 1)) : cleanseObject(value, depth);
}
