import { readFileSync } from 'node:fs';
import type { OpenApiOperation } from './openapi-documents.service.js';

/** A call of an operation and its response, recorded from a real run. */
export interface OperationExample {
  /** With its query string, below the API's base address: `/users?limit=10`. */
  path: string;
  /** `bearer` where the call carried an access token, `api-key` where it carried a key in `X-API-Key`. */
  credential?: 'bearer' | 'api-key';
  request?: unknown;
  status: number;
  /** Absent when the response is not JSON. */
  response?: unknown;
}

/** By operation: `post /auth/login`. The first one of a status is shown. */
export type OperationExamples = Readonly<Record<string, readonly OperationExample[]>>;

/** Reads the recorded calls of a service from a JSON file. */
export const readExamples = (file: URL): OperationExamples =>
  JSON.parse(readFileSync(file, 'utf8')) as OperationExamples;

/** Adds recorded calls to an operation: request body, responses, and the first call as a shell command. */
export function addExamples(operation: OpenApiOperation, method: string, examples: readonly OperationExample[]): void {
  const [first] = examples;
  if (!first) return;
  const body = operation.requestBody && 'content' in operation.requestBody ? operation.requestBody : undefined;
  const json = body?.content['application/json'];
  if (json && first.request !== undefined) json.example = first.request;
  for (const { status, response } of [...examples].reverse()) {
    const documented = operation.responses[String(status)];
    const content = documented && 'content' in documented ? documented.content?.['application/json'] : undefined;
    if (content && response !== undefined) content.example = response;
  }
  operation.description = [operation.description, shellLine(method, first)].filter(Boolean).join('\n\n');
}

const CREDENTIAL_HEADERS = {
  bearer: '-H "Authorization: Bearer $TOKEN"',
  'api-key': '-H "X-API-Key: $API_KEY"',
};

function shellLine(method: string, { path, credential, request }: OperationExample): string {
  const parts = [
    `curl -X ${method.toUpperCase()} "$BASE_URL/api/v1${path}"`,
    ...(credential ? [CREDENTIAL_HEADERS[credential]] : []),
    ...(request === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(request).replaceAll("'", "'\\''")}'`]),
  ];
  return ['```bash', parts.join(' \\\n  '), '```'].join('\n');
}
