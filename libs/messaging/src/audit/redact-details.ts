const HIDDEN = '[removed]';
const MAX_DEPTH = 6;
const MAX_TEXT = 2_000;
const MAX_MEMBERS = 200; // of one list or object
/** Of all details as JSON; a message has room for 262,144 bytes. */
const MAX_DETAILS = 40_000;

/** Names whose value never stands in an audit row: the last word says what the value is. */
const SECRET_NAME =
  /(password|passphrase|secret|token|authorization|cookie|credentials?|otp|totp|recoverycodes?|mfacode|(api|private|raw|enrollment|access|secret|signing|plain)[-_]?key|keyhash|html|mailbody|mailtext)$/i;
/** Values that are secrets whatever they are called: our keys and tokens, JWTs, bearer headers, links of mails. */
const SECRET_VALUE = new RegExp(
  [
    String.raw`\b(?:svc|agt)_[A-Za-z0-9_-]{16,}`,
    String.raw`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`,
    String.raw`\bBearer\s+\S{8,}`,
    String.raw`\b[0-9a-f]{64}\b`,
    String.raw`(?<=[?&#](?:token|code|state|ssoCode)=)[^&#\s]+`,
    // 32 random bytes as base64url: small letters, capitals and digits together
    String.raw`(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{43}(?![\w-])`,
  ].join('|'),
  'g',
);
/** One-use codes are short and common, so the name has to say it too. */
const CODE_NAME = /codes?$/i;
const CODE_VALUE = /^(?:\d{6,8}|[A-Z0-9]{4}-[A-Z0-9]{4})$/i;
/** What no text column holds: NUL and halves of characters. */
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\p{Surrogate}\u0000]/gu;
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/**
 * Audit details without passwords, tokens, secrets and mail bodies, whatever the caller put in.
 * Numbers and booleans stay (`secretRotated: true`); long texts and lists are cut, and what is too long altogether is
 * left out but for the names of its fields: a row never fails the change it speaks of.
 * @see CONTRACT.md 9
 */
export function redactDetails(details: Record<string, unknown>): Record<string, unknown> {
  const cleansed = cleanseObject(details, 0);
  if (JSON.stringify(cleansed).length <= MAX_DETAILS) return cleansed;
  return { tooLong: true, fields: Object.keys(cleansed).map((name) => name.slice(0, 100)) };
}

/** A name, an address or a header of an audit row: one line of at most `maxLength` characters that any column holds. */
export function oneLine(text: string, maxLength: number): string {
  return storable(text.replace(CONTROLS, ' ').slice(0, maxLength));
}

const storable = (text: string): string => text.replace(UNSTORABLE, '\uFFFD');

function cleanseObject(object: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .slice(0, MAX_MEMBERS)
      .map(([name, value]) => [
        storable(name.slice(0, MAX_TEXT)),
        isSecret(name, value) ? HIDDEN : cleanseValue(value, depth + 1),
      ]),
  );
}

function isSecret(name: string, value: unknown): boolean {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return false;
  return SECRET_NAME.test(name) || (CODE_NAME.test(name) && typeof value === 'string' && CODE_VALUE.test(value));
}

function cleanseValue(value: unknown, depth: number): unknown {
  // Secrets go before the text is cut: half of one would not be known for what it is.
  if (typeof value === 'string') return storable(value.replace(SECRET_VALUE, HIDDEN).slice(0, MAX_TEXT));
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object' || Buffer.isBuffer(value) || depth > MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((each) => cleanseValue(each, depth + 1));
  return cleanseObject(value, depth);
}
