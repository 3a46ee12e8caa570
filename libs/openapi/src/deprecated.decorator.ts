import { applyDecorators, Header, SetMetadata } from '@nestjs/common';
import 'reflect-metadata';
import type { OpenApiOperation } from './openapi-documents.service.js';

export interface Deprecation {
  /** Day from which the operation is deprecated: `2026-11-23`; may be in the future. */
  since: `${number}-${number}-${number}`;
  /** Day from which it may be gone, at least 180 days after `since`. Without it the operation stays as long as its version. */
  sunset?: `${number}-${number}-${number}`;
  /** The operation to use instead: `POST /auth/register-partner`. */
  successor?: string;
}

const DEPRECATION = 'rmm:openapi:deprecation';
const DAY_MS = 86_400_000;
const MIN_NOTICE_DAYS = 180;
const TEXT = { type: 'string' as const };
const HEADERS = {
  Deprecation: { description: 'Unix time after `@` from which the operation is deprecated', schema: TEXT },
  Sunset: { description: 'HTTP date from which the operation may be gone', schema: TEXT },
  Link: { description: 'The policy: `rel="deprecation"`, `rel="sunset"`', schema: TEXT },
};

/** The policy, which the docs page shows above the operations. */
const POLICY = '/docs';

/**
 * Marks an operation as deprecated: in the OpenAPI document, and with `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and
 * `Link` in its responses, errors of validation and of the handler included.
 * @throws Error  when the sunset leaves clients less than 180 days
 * @see docs/reference/api-lifecycle.md
 */
export function Deprecated(deprecation: Deprecation): MethodDecorator {
  const headers = Object.entries(deprecationHeaders(deprecation));
  return applyDecorators(SetMetadata(DEPRECATION, deprecation), ...headers.map(([name, value]) => Header(name, value)));
}

/** Returns the headers of the responses of a deprecated operation. */
export function deprecationHeaders({ since, sunset }: Deprecation): Record<string, string> {
  const from = startOfDay(since);
  if (sunset === undefined) return { Deprecation: `@${from / 1_000}`, Link: linkTo('deprecation') };
  const until = startOfDay(sunset);
  if (until - from < MIN_NOTICE_DAYS * DAY_MS) {
    throw new Error(`The sunset ${sunset} is less than ${MIN_NOTICE_DAYS} days after ${since}`);
  }
  return {
    Deprecation: `@${from / 1_000}`,
    Sunset: new Date(until).toUTCString(),
    Link: `${linkTo('deprecation')}, ${linkTo('sunset')}`,
  };
}

/** Marks the operation of a deprecated handler in the OpenAPI document; leaves others as they are. */
export function describeDeprecation(operation: OpenApiOperation, handler: object): void {
  const deprecation = Reflect.getMetadata(DEPRECATION, handler) as Deprecation | undefined;
  if (deprecation === undefined) return;
  const { since, sunset, successor } = deprecation;
  operation.deprecated = true;
  operation['x-deprecated-since'] = since;
  if (sunset) operation['x-sunset'] = sunset;
  const note = [
    `Deprecated since ${since}.`,
    ...(sunset ? [`It may be gone from ${sunset}.`] : []),
    ...(successor ? [`Use \`${successor}\`.`] : []),
  ].join(' ');
  operation.description = [operation.description, note].filter(Boolean).join('\n\n');
  const headers = Object.entries(HEADERS).filter(([name]) => sunset !== undefined || name !== 'Sunset');
  for (const [status, response] of Object.entries(operation.responses)) {
    if (status === 'default' || response === undefined || '$ref' in response) continue; // shared by all operations
    response.headers = { ...response.headers, ...Object.fromEntries(headers) };
  }
}

function startOfDay(day: string): number {
  const time = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(time)) throw new Error(`${day} is not a day`);
  return time;
}

const linkTo = (relation: string): string => `<${POLICY}>; rel="${relation}"; type="text/html"`;
