import type { OpenAPIObject } from '@nestjs/swagger';
import { declareErrorResponses } from './error-responses.js';
import type { OpenApiOperation } from './openapi-documents.service.js';

const emptyDocument = (): OpenAPIObject => ({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths: {} });

function operationWith(codes: Record<string, string[]>, responses: Record<string, object> = {}): OpenApiOperation {
  return { responses, 'x-error-codes': codes } as unknown as OpenApiOperation;
}

describe('declareErrorResponses', () => {
  it('refers to a shared response per status, with the codes of the operation', () => {
    const document = emptyDocument();
    const operation = operationWith({ 409: ['conflict', 'taken'], 429: ['rate_limited'] });
    declareErrorResponses(document, operation);
    expect(operation.responses).toEqual({
      409: { $ref: '#/components/responses/Conflict', description: '`conflict`, `taken`' },
      429: { $ref: '#/components/responses/TooManyRequests', description: '`rate_limited`' },
    });
    expect(document.components?.responses).toMatchObject({
      Conflict: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } } },
      TooManyRequests: { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } },
    });
    expect(document.components?.responses?.Conflict).not.toHaveProperty('headers.Retry-After');
  });

  it('keeps a response that the operation declares itself', () => {
    const gone = { description: 'Always' };
    const operation = operationWith({ 410: ['gone'] }, { 410: gone });
    declareErrorResponses(emptyDocument(), operation);
    expect(operation.responses[410]).toBe(gone);
  });

  it('gives errors of SCIM the media type of SCIM', () => {
    const document = emptyDocument();
    const success = { description: '', content: { 'application/scim+json': {} } };
    const operation = operationWith({ 404: ['not_found'] }, { 200: success });
    declareErrorResponses(document, operation);
    expect(operation.responses[404]).toMatchObject({
      description: '`not_found`',
      content: { 'application/scim+json': { schema: { $ref: '#/components/schemas/ErrorBody' } } },
    });
    expect(document.components?.responses).toEqual({});
  });

  it('declares the request id of successful responses', () => {
    const operation = operationWith({}, { 200: { description: 'Done' } });
    declareErrorResponses(emptyDocument(), operation);
    expect(operation.responses[200]).toMatchObject({
      headers: { 'X-Request-Id': { $ref: '#/components/headers/XRequestId' } },
    });
  });
});
