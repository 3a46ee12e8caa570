/** A recorded call and its response. */
export interface RecordedCall {
  method: string;
  /** Below the API's base address, with its query string. */
  path: string;
  credential?: 'bearer' | 'api-key';
  request?: object | string;
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** The example of a call on the docs page. */
export interface RecordedExample {
  path: string;
  credential?: 'bearer' | 'api-key';
  request?: unknown;
  status: number;
  response?: unknown;
}

const PER_OPERATION = 2;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Patterns that differ between runs and their replacements, in order. Years from 2100 on are kept. */
const REPLACEMENTS: readonly [RegExp, string][] = [
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-11-21T09:00:00.000Z'],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI3ZDlmIn0.c2lnbmF0dXJl'],
  [/^data:image\/png;base64,.*$/g, 'data:image/png;base64,iVBORw0KGgo='],
  [/([a-z]+)-[0-9a-f]{10}@(\w+)\.test/g, '$1@$2.test'],
  [/\b20\d\d-\d\d-\d\d(?!T)\b/g, '2026-11-21'],
  [/^whsec_[\w+/=-]{43,44}$/g, `whsec_${'A'.repeat(43)}`],
  [/http:\/\/127\.0\.0\.1:\d+/g, 'https://hooks.example.com'],
  [/^svc_sp_[\w-]{43}$/g, `svc_sp_${'A'.repeat(43)}`],
  [/^svc_sp_[\w-]{11}$/g, `svc_sp_${'A'.repeat(11)}`],
  [/^svc_[\w-]{32}$/g, `svc_${'A'.repeat(32)}`],
  [/^svc_[\w-]{8}$/g, `svc_${'A'.repeat(8)}`],
  [/^[A-Z2-7]{16,64}$/g, 'JBSWY3DPEHPK3PXP'],
  [/^[0-9a-f]{64}$/g, 'a'.repeat(64)],
  [/^[A-Za-z0-9_-]{43}$/g, 'A'.repeat(43)],
  [/^[A-Za-z0-9_-]{48}$/g, 'A'.repeat(48)],
  [/^[A-Za-z0-9]{32}$/g, 'A'.repeat(32)],
  [/^[A-Z0-9]{4}-[A-Z0-9]{4}$/g, 'ABCD-2345'],
  [/^\d{6}$/g, '123456'],
  [/secret=[A-Z2-7]+/g, 'secret=JBSWY3DPEHPK3PXP'],
  [/\?v=\w+/g, '?v=1'],
];

/**
 * Returns the first successful calls of each operation, without what differs between runs.
 * @param operationOf  names the operation of a call: `post /auth/login`
 */
export function examplesOf(
  calls: readonly RecordedCall[],
  operationOf: (call: RecordedCall) => string,
): Record<string, RecordedExample[]> {
  const examples: Record<string, RecordedExample[]> = {};
  for (const call of calls) {
    const known = (examples[operationOf(call)] ??= []);
    if (call.status >= 400 || known.length >= PER_OPERATION) continue;
    const { path, credential, request, status, body } = call;
    const isJson = /^application\/(?:scim\+)?json/.test(call.headers['content-type'] ?? '');
    known.push(
      withoutRunSpecifics({
        path,
        ...(credential && { credential }),
        ...(request !== undefined && { request }),
        status,
        ...(isJson && { response: shortened(body) }),
      }),
    );
  }
  const named = Object.entries(examples).filter(([, list]) => list.length > 0);
  return Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Cuts lists to their first two items. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 2).map(shortened);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shortened(member)]));
}

function withoutRunSpecifics(example: RecordedExample): RecordedExample {
  const ids = new Map<string, string>();
  const replacementFor = (uuid: string) => {
    if (!ids.has(uuid)) ids.set(uuid, `7d9f2c1e-0000-4000-8000-${String(ids.size + 1).padStart(12, '0')}`);
    return ids.get(uuid) ?? uuid;
  };
  const text = (value: string) =>
    REPLACEMENTS.reduce(
      (replaced, [pattern, to]) => replaced.replace(pattern, to),
      value.replace(UUID, replacementFor),
    );
  const replaceAll = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(replaceAll);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaceAll(member)]));
  };
  return replaceAll(example) as RecordedExample;
}
