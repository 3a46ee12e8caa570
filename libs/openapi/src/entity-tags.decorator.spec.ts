import { DescribeEntityTags, describeEntityTags } from './entity-tags.decorator.js';
import type { OpenApiOperation } from './openapi-documents.service.js';

class ThingsController {
  @DescribeEntityTags()
  tagged() {
    return 'tagged';
  }
  plain() {
    return 'plain';
  }
}

function described(method: string, name: 'tagged' | 'plain' = 'tagged'): OpenApiOperation {
  const operation = { responses: { 200: { description: '' } } } as unknown as OpenApiOperation;
  const { value } = Object.getOwnPropertyDescriptor(ThingsController.prototype, name) as { value: object };
  describeEntityTags(operation, method, value);
  return operation;
}

describe('describeEntityTags', () => {
  it('describes If-None-Match and 304 of a GET', () => {
    const { parameters, responses } = described('get');
    expect(parameters).toMatchObject([{ name: 'If-None-Match', in: 'header', required: false }]);
    expect(responses).toMatchObject({ 200: { headers: { ETag: {} } }, 304: { headers: { ETag: {} } } });
  });

  it.each(['put', 'patch', 'delete'])('describes If-Match and its errors for %s', (method) => {
    const operation = described(method);
    expect(operation.parameters).toMatchObject([{ name: 'If-Match', in: 'header', required: false }]);
    expect(operation['x-error-codes']).toEqual({ 400: ['invalid_if_match'], 412: ['precondition_failed'] });
    expect('headers' in (operation.responses[200] ?? {})).toBe(method !== 'delete');
  });

  it('describes the ETag of a POST, and leaves other operations as they are', () => {
    expect(described('post')).toMatchObject({ responses: { 200: { headers: { ETag: {} } } } });
    expect(described('post').parameters).toBeUndefined();
    expect(described('patch', 'plain')).toEqual({ responses: { 200: { description: '' } } });
  });
});
