import { SECRET_NAMES } from '@rmm/service-kit';

const REDACTED = '[removed]';
const MAX_DEPTH = 6;
const MAX_TEXT = 2_000;
const MAX_MEMBERS = 200; // of one list or object
/** Limit of all details as JSON, in characters; a message may have 262,144 bytes. */
const MAX_DETAILS = 40_000;

/** Secrets recognized by their form: keys and tokens of ours, JWTs, bearer headers, links in mails. */
const SECRET_VALUE = new RegExp(
  [
    String.raw`\b(?:svc|agt)_[A-Za-z0-9_-]{16,}`,
    String.raw`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`,
    String.raw`\bBearer\s+\S{8,}`,
    String.raw`\b[0-9a-f]{64}\b`,
    String.raw`(?<=[?&#](?:token|code|state|ssoCode)=)[^&#\s]+`,
    // 32 random bytes as base64url: lower case, upper case and digits together
    String.raw`(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{43}(?![\w-])`,
  ].join('|'),
  'g',
);
/** One-time codes look like ordinary numbers, so the field name has to match as well. */
const CODE_NAME = /codes?$/i;
const CODE_VALUE = /^(?:\d{6,8}|[A-Z0-9]{4}-[A-Z0-9]{4})$/i;
/** Digests of files and documents have the form of keys; they are kept in fields of such a name. */
const DIGEST_NAME = /Sha256$/;
const DIGEST_VALUE = /^[0-9a-f]{64}$/;
/** Characters that PostgreSQL cannot store: NUL and unpaired surrogates. */
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\p{Surrogate}\u0000]/gu;
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/**
 * Redacts passwords, tokens, secrets and mail bodies from audit details.
 * Numbers and booleans are kept (`secretRotated: true`); long texts and lists are truncated. Details that are too long as
 * a whole are replaced with the names of their fields, so that an audit entry never makes the audited change fail.
 * @see docs/reference/audit.md
 */
export function redactDetails(details: Record<string, unknown>): Record<string, unknown> {
  const redacted = redactObject(details, 0);
  if (JSON.stringify(redacted).length <= MAX_DETAILS) return redacted;
  return { tooLong: true, fields: Object.keys(redacted).map((name) => name.slice(0, 100)) };
}

/** Reduces a name, an address or a header to one storable line of at most `maxLength` characters. */
export function oneLine(text: string, maxLength: number): string {
  return storable(text.replace(CONTROLS, ' ').slice(0, maxLength));
}

const storable = (text: string): string => text.replace(UNSTORABLE, '\uFFFD');

function redactObject(object: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .slice(0, MAX_MEMBERS)
      .map(([name, value]) => [
        storable(name.slice(0, MAX_TEXT)),
        isSecret(name, value) ? REDACTED : isDigest(name, value) ? value : redactValue(value, depth + 1),
      ]),
  );
}

const isDigest = (name: string, value: unknown): boolean =>
  DIGEST_NAME.test(name) && typeof value === 'string' && DIGEST_VALUE.test(value);

function isSecret(name: string, value: unknown): boolean {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return false;
  return SECRET_NAMES.test(name) || (CODE_NAME.test(name) && typeof value === 'string' && CODE_VALUE.test(value));
}

function redactValue(value: unknown, depth: number): unknown {
  // Secrets are removed before the text is truncated: half of a secret is not recognized.
  if (typeof value === 'string') return storable(value.replace(SECRET_VALUE, REDACTED).slice(0, MAX_TEXT));
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object' || Buffer.isBuffer(value) || depth > MAX_DEPTH) return REDACTED;
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((each) => redactValue(each, depth + 1));
  return redactObject(value, depth);
}
