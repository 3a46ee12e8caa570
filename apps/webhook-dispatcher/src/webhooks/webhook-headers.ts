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
]);

/** Headers that are ours or the connection's: no webhook may set, double or forge them. @see CONTRACT.md 4.9 */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED.has(lower) || lower.startsWith('proxy-') || lower.startsWith('x-service-');
}

/**
 * @returns complaints by path (`headers.0.key`), none when all is well
 */
export function headerComplaints(headers: readonly WebhookHeader[]): Record<string, string[]> {
  const complaints: Record<string, string[]> = {};
  const seen = new Set<string>();
  headers.forEach(({ key, value }, i) => {
    const lower = key.toLowerCase();
    const complain = (field: 'key' | 'value', text: string) => (complaints[`headers.${i}.${field}`] ??= []).push(text);
    if (!TOKEN.test(key) || key.length > MAX_NAME_LENGTH) complain('key', 'must be a valid header name');
    else if (isReservedHeader(key)) complain('key', 'is a reserved header');
    else if (seen.has(lower)) complain('key', 'is given twice');
    if (!VALUE.test(value) || value.length > MAX_VALUE_LENGTH) complain('value', 'must be a valid header value');
    seen.add(lower);
  });
  return complaints;
}
