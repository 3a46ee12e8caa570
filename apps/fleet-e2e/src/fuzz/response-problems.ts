import { schemaMismatches } from '@rmm/testing/openapi';
import type { FuzzRequest } from './fuzz-requests.js';
import type { ApiDocument, Operation } from './operations.js';
import type { RawResponse } from './raw-client.js';

/** Text of the inside of a service: stacks, SQL, messages of libraries. */
const INTERNAL_TEXT =
  /node_modules|\bat \S+ \(|\.[jt]s:\d+|TypeError|RangeError|Cannot read properties|is not a function|\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b|violates|syntax error at|invalid input syntax|out of range for type|duplicate key|ECONNREFUSED|QueryFailed/;

const JSON_MEDIA_TYPE = /^application\/(?:scim\+)?json\b/;

/** Documented states of a dependency or a provider; 502 and the like are not. */
const UNAVAILABLE = [503, 501];

/** Lists what is wrong with a response; an empty list when nothing is. */
export function problemsOf(
  request: FuzzRequest,
  response: RawResponse,
  operation: Operation,
  document: ApiDocument,
): string[] {
  const { status, text, headers } = response;
  const problems: string[] = [];
  if (status >= 500 && !UNAVAILABLE.includes(status)) problems.push(`${status}`);
  const leaked = INTERNAL_TEXT.exec(text);
  if (leaked && status >= 400) problems.push(`shows ${JSON.stringify(leaked[0])}`);
  const isJson = JSON_MEDIA_TYPE.test(headers['content-type'] ?? '');
  const body = isJson ? parse(text) : undefined;
  if (isJson && body === undefined) return [...problems, 'is no JSON'];
  if (status < 400) return [...problems, ...successProblems(response, body, operation, document)];
  const isMcp = operation.path.includes('/mcp/') && request.target.split('?')[0] === operation.path;
  return [...problems, ...(isMcp ? jsonRpcProblems(body) : errorProblems(response, body, request, operation))];
}

function successProblems(response: RawResponse, body: unknown, operation: Operation, document: ApiDocument): string[] {
  const { status, headers } = response;
  const described = operation.responses[status];
  if (!described) return [`${status} is not described`];
  const mediaType = headers['content-type']?.split(';')[0] ?? '';
  if (mediaType === 'application/x-ndjson') return response.text.split('\n').every(isJsonLine) ? [] : ['is no NDJSON'];
  if (!JSON_MEDIA_TYPE.test(mediaType)) return [];
  const schema = described.content?.[mediaType]?.schema;
  return schema ? schemaMismatches(schema, body, document.schemas).slice(0, 3) : [`${status} has no schema`];
}

function errorProblems(response: RawResponse, body: unknown, request: FuzzRequest, operation: Operation): string[] {
  const { status, headers } = response;
  const error = (body ?? {}) as Record<string, unknown>;
  const absent = ['error', 'message', 'code', 'requestId'].filter((name) => typeof error[name] !== 'string');
  if (absent.length > 0) return [`${status} without ${absent.join(', ')}`];
  const problems: string[] = [];
  if (error['requestId'] !== headers['x-request-id']) problems.push('requestId differs from X-Request-Id');
  if ([429, 503].includes(status) && !headers['retry-after']) problems.push(`${status} without Retry-After`);
  const code = String(error['code']);
  if (!isRouteOf(operation, request)) return problems;
  const documented = operation.errorCodes[status] ?? [];
  if (!documented.includes(code)) problems.push(`${status} ${code} is not documented`);
  return problems;
}

/** A mutated path may be that of another route or of none. */
function isRouteOf({ path }: Operation, { target, mutation }: FuzzRequest): boolean {
  return !mutation.startsWith('path ') && target.split('?')[0]?.split('/').length === path.split('/').length;
}

function jsonRpcProblems(body: unknown): string[] {
  const { jsonrpc, error } = (body ?? {}) as { jsonrpc?: unknown; error?: { code?: unknown; message?: unknown } };
  const isError = jsonrpc === '2.0' && Number.isInteger(error?.code) && typeof error?.message === 'string';
  return isError ? [] : ['is no JSON-RPC error'];
}

/** Accepts the empty text behind the last line. */
function isJsonLine(line: string): boolean {
  return line === '' || parse(line) !== undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
