import 'reflect-metadata';
import type { OpenApiOperation } from './openapi-documents.service.js';

/** Codes of errors by status. */
export type ErrorCodesByStatus = Readonly<Record<number, readonly string[]>>;

const ERROR_CODES = 'rmm:openapi:error-codes';

/**
 * Lists the error codes of a route, or of all routes of a controller, in `x-error-codes` of the OpenAPI document. The
 * codes of the request pipeline and of the access decorators are added by themselves.
 * @see docs/reference/errors.md
 */
export const ErrorCodes =
  (codes: ErrorCodesByStatus): ClassDecorator & MethodDecorator =>
  (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor) =>
    Reflect.defineMetadata(ERROR_CODES, codes, (descriptor?.value as object | undefined) ?? target);

/** Returns what `@ErrorCodes` lists for a controller or a handler. */
export const errorCodesOf = (target: object): ErrorCodesByStatus =>
  (Reflect.getMetadata(ERROR_CODES, target) as ErrorCodesByStatus | undefined) ?? {};

/** Adds codes to those of an operation. */
export function addErrorCodes(operation: OpenApiOperation, added: ErrorCodesByStatus): void {
  const codes = (operation['x-error-codes'] ??= {}) as Record<string, string[]>;
  for (const [status, names] of Object.entries(added)) {
    if (names.length > 0) codes[status] = [...new Set([...(codes[status] ?? []), ...names])].sort();
  }
}

/** Returns the codes that the request pipeline and the validation of parameters raise. */
export function pipelineErrorCodes(
  method: string,
  { parameters = [], requestBody }: OpenApiOperation,
): ErrorCodesByStatus {
  const locations = parameters.map((parameter) => ('in' in parameter ? parameter.in : ''));
  const takesInput = requestBody !== undefined || locations.includes('query') || locations.includes('header');
  const isWrite = ['post', 'put', 'patch', 'delete'].includes(method);
  return {
    400: [...(takesInput ? ['validation_failed'] : []), ...(requestBody ? ['malformed_json', 'bad_request'] : [])],
    404: locations.includes('path') ? ['not_found'] : [],
    413: isWrite ? ['payload_too_large'] : [],
    415: isWrite ? ['unsupported_media_type'] : [],
    429: ['rate_limited'],
    503: ['service_unavailable'],
  };
}
