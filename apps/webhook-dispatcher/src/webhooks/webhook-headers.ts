/** A custom header of a webhook. */
export interface WebhookHeader {
  key: string;
  value: string;
}

/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What a header value can carry as single bytes, without control characters. */
const VALUE = /^[\u0020-\u007e\u00a0-\u00ff]*$/;
const MAX_NAME_LENGTH = 255;
const MAX_VALUE_LENGTH = 4_096;

const RESERVED = new Set([
  'host',
  'content-type',
  'content-length',
  'user-agent',
  'connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'keep-alive',
  'expect',
  'metadata',
  // No name an object can carry.
  '__proto__',
]);

const RESERVED_PREFIXES = [
  'proxy-',
  // Ours, and those of Standard Webhooks, whether the webhook asks for them or not.
  'x-service-',
  'webhook-',
  // With these the metadata services of clouds give out what they guard.
  'metadata-flavor',
  'x-aws-ec2-metadata-token',
  'x-aliyun-ecs-metadata-token',
  'x-google-',
  'x-amz-',
  'x-azure-',
];

/** Headers that are ours, the connection's or a cloud's: no webhook may set, double or forge them. @see CONTRACT.md 4.9 */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

const isHeaderName = (name: string): boolean => TOKEN.test(name) && name.length <= MAX_NAME_LENGTH;
const isHeaderValue = (value: string): boolean => VALUE.test(value) && value.length <= MAX_VALUE_LENGTH;

/**
 * @returns complaints by path (`headers.0.key`), none when all is well
 */
export function headerErrors(headers: readonly WebhookHeader[]): Record<string, string[]> {
  const complaints: Record<string, string[]> = {};
  const seen = new Set<string>();
  headers.forEach(({ key, value }, i) => {
    const lower = key.toLowerCase();
    const complain = (field: 'key' | 'value', text: string) => (complaints[`headers.${i}.${field}`] ??= []).push(text);
    if (!isHeaderName(key)) complain('key', 'must be a valid header name');
    else if (isReservedHeader(key)) complain('key', 'is a reserved header');
    else if (seen.has(lower)) complain('key', 'is given twice');
    if (!isHeaderValue(value)) complain('value', 'must be a valid header value');
    seen.add(lower);
  });
  return complaints;
}

/** Rows written past the API get the same rules: what they refuse is left out, and of two spellings the first is sent. */
export function sendableHeaders(headers: readonly WebhookHeader[]): WebhookHeader[] {
  const seen = new Set<string>();
  return headers.filter(({ key, value }) => {
    const lower = key.toLowerCase();
    const isFine = isHeaderName(key) && isHeaderValue(value) && !isReservedHeader(key) && !seen.has(lower);
    if (isFine) seen.add(lower);
    return isFine;
  });
}
