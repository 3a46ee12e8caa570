/** A custom header of a webhook. */
export interface WebhookHeader {
  key: string;
  value: string;
}

/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Latin-1 without control characters. */
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
  // By these a service behind the receiver, which may trust its callers, takes another client, host, path or method.
  'forwarded',
  'x-forwarded',
  'x-real-ip',
  'x-client-ip',
  'x-original-host',
  'x-original-url',
  'x-rewrite-url',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'metadata',
  // Cannot be a property of an object literal.
  '__proto__',
]);

const RESERVED_PREFIXES = [
  'proxy-',
  // The headers of this service and of Standard Webhooks, whether the webhook enables those or not.
  'x-service-',
  'webhook-',
  'x-forwarded-',
  // These unlock the instance metadata endpoints of clouds.
  'metadata-flavor',
  'x-aws-ec2-metadata-token',
  'x-aliyun-ecs-metadata-token',
  'x-google-',
  'x-amz-',
  'x-azure-',
];

/**
 * Returns whether a header belongs to this service, the connection or a cloud; no webhook may set or repeat it.
 * @see docs/reference/webhooks.md
 */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

const isHeaderName = (name: string): boolean => TOKEN.test(name) && name.length <= MAX_NAME_LENGTH;
const isHeaderValue = (value: string): boolean => VALUE.test(value) && value.length <= MAX_VALUE_LENGTH;

/** Returns validation errors by path (`headers.0.key`); an empty object when all headers are valid. */
export function headerErrors(headers: readonly WebhookHeader[]): Record<string, string[]> {
  const errors: Record<string, string[]> = {};
  const seen = new Set<string>();
  headers.forEach(({ key, value }, i) => {
    const lower = key.toLowerCase();
    const addError = (field: 'key' | 'value', text: string) => (errors[`headers.${i}.${field}`] ??= []).push(text);
    if (!isHeaderName(key)) addError('key', 'must be a valid header name');
    else if (isReservedHeader(key)) addError('key', 'is a reserved header');
    else if (seen.has(lower)) addError('key', 'is given twice');
    if (!isHeaderValue(value)) addError('value', 'must be a valid header value');
    seen.add(lower);
  });
  return errors;
}

/** Returns the headers that may be sent, since rows can be written without the API; of duplicates the first is sent. */
export function sendableHeaders(headers: readonly WebhookHeader[]): WebhookHeader[] {
  const seen = new Set<string>();
  return headers.filter(({ key, value }) => {
    const lower = key.toLowerCase();
    const isSendable = isHeaderName(key) && isHeaderValue(value) && !isReservedHeader(key) && !seen.has(lower);
    if (isSendable) seen.add(lower);
    return isSendable;
  });
}
