import { addErrorCodes, ErrorCodes, errorCodesOf, pipelineErrorCodes } from './error-codes.decorator.js';
import type { OpenApiOperation } from './openapi-documents.service.js';

describe('error codes of an operation', () => {
  it('lists the codes of a controller and of a handler', () => {
    @ErrorCodes({ 409: ['conflict'] })
    class ThingsController {
      @ErrorCodes({ 400: ['weak_thing'] })
      create() {
        return 'created';
      }
    }
    expect(errorCodesOf(ThingsController)).toEqual({ 409: ['conflict'] });
    const { value } = Object.getOwnPropertyDescriptor(ThingsController.prototype, 'create') as { value: object };
    expect(errorCodesOf(value)).toEqual({ 400: ['weak_thing'] });
    expect(errorCodesOf(class Other {})).toEqual({});
  });

  it('adds codes once, sorted, and no status without a code', () => {
    const operation = { responses: {} } as OpenApiOperation;
    addErrorCodes(operation, { 409: ['taken', 'conflict'], 410: [] });
    addErrorCodes(operation, { 409: ['conflict'], 400: ['validation_failed'] });
    expect(operation['x-error-codes']).toEqual({ 400: ['validation_failed'], 409: ['conflict', 'taken'] });
  });

  it('derives the codes of the pipeline from method, parameters and body', () => {
    const read = { responses: {}, parameters: [{ name: 'id', in: 'path' }] } as OpenApiOperation;
    expect(pipelineErrorCodes('get', read)).toMatchObject({
      400: [],
      404: ['not_found'],
      415: [],
      429: ['rate_limited'],
    });
    const write = { responses: {}, requestBody: { content: {} } } as OpenApiOperation;
    expect(pipelineErrorCodes('post', write)).toMatchObject({
      400: ['validation_failed', 'malformed_json', 'bad_request'],
      404: [],
      413: ['payload_too_large'],
    });
  });
});
