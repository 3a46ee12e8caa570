import { SetMetadata } from '@nestjs/common';
import 'reflect-metadata';
import { addErrorCodes } from './error-codes.decorator.js';
import type { OpenApiOperation } from './openapi-documents.service.js';
import { addResponseHeader, headerRef } from './response-headers.js';

const ENTITY_TAGS = 'rmm:openapi:entity-tags';

/** Marks a route that supports entity tags for the OpenAPI document. The decorator of service-kit includes it. */
export const DescribeEntityTags = (): MethodDecorator => SetMetadata(ENTITY_TAGS, true);

/**
 * Describes the headers and responses of a route with entity tags: `If-None-Match` and 304 of a GET, `If-Match` and 412 of a
 * change, and the `ETag` of every response but that of a DELETE. Leaves other operations as they are.
 */
export function describeEntityTags(operation: OpenApiOperation, method: string, handler: object): void {
  if (Reflect.getMetadata(ENTITY_TAGS, handler) !== true) return;
  if (method === 'get') {
    addHeaderParameter(operation, 'If-None-Match', 'Entity tags; 304 when one of them is current');
    operation.responses[304] = {
      description: '`If-None-Match` contains the current ETag',
      headers: { ETag: headerRef('ETag') },
    };
  }
  if (['put', 'patch', 'delete'].includes(method)) {
    addHeaderParameter(
      operation,
      'If-Match',
      'Entity tags, or `*`; 412 when none of them is that of the stored record',
    );
    addErrorCodes(operation, { 400: ['invalid_if_match'], 412: ['precondition_failed'] });
  }
  if (method === 'delete') return;
  for (const status of ['200', '201']) addResponseHeader(operation, status, 'ETag');
}

function addHeaderParameter(operation: OpenApiOperation, name: string, description: string): void {
  (operation.parameters ??= []).push({ name, in: 'header', required: false, description, schema: { type: 'string' } });
}
