import { deprecationHeaders, describeDeprecation, Deprecated } from './deprecated.decorator.js';
import type { OpenApiOperation } from './openapi-documents.service.js';

const POLICY = '</docs>; rel="deprecation"; type="text/html"';

const operationWith = (more: object): OpenApiOperation => ({
  responses: { 200: { description: 'OK' }, default: { description: 'Error' } },
  ...more,
});

function handlerOf(target: new () => object, name: string): object {
  return (Object.getOwnPropertyDescriptor(target.prototype as object, name) as { value: object }).value;
}

describe('deprecationHeaders', () => {
  it('gives the start of the day in seconds, and the sunset as an HTTP date', () => {
    expect(deprecationHeaders({ since: '2026-11-23' })).toEqual({ Deprecation: '@1795392000', Link: POLICY });
    expect(deprecationHeaders({ since: '2026-11-23', sunset: '2027-06-01' })).toEqual({
      Deprecation: '@1795392000',
      Sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
      Link: `${POLICY}, </docs>; rel="sunset"; type="text/html"`,
    });
  });

  it('refuses a sunset that leaves clients less than 180 days', () => {
    expect(() => deprecationHeaders({ since: '2026-01-01', sunset: '2026-06-29' })).toThrow('less than 180 days');
    expect(deprecationHeaders({ since: '2026-01-01', sunset: '2026-06-30' }).Sunset).toContain('30 Jun 2026');
  });

  it('refuses a day that does not exist', () => {
    expect(() => deprecationHeaders({ since: '2026-13-01' })).toThrow('2026-13-01 is not a day');
  });
});

describe('describeDeprecation', () => {
  class ThingsController {
    @Deprecated({ since: '2026-11-23', sunset: '2027-06-01', successor: 'GET /things' })
    listAll() {
      return [];
    }
    list() {
      return [];
    }
  }

  it('marks the operation, and names the days, the successor and the headers', () => {
    const operation = operationWith({ description: 'All things.' });
    describeDeprecation(operation, handlerOf(ThingsController, 'listAll'));
    expect(operation).toMatchObject({
      deprecated: true,
      'x-deprecated-since': '2026-11-23',
      'x-sunset': '2027-06-01',
      description: 'All things.\n\nDeprecated since 2026-11-23. It may be gone from 2027-06-01. Use `GET /things`.',
    });
    const { headers } = operation.responses['200'] as { headers: object };
    expect(Object.keys(headers).sort()).toEqual(['Deprecation', 'Link', 'Sunset']);
    expect(operation.responses.default).toEqual({ description: 'Error' });
  });

  it('leaves other operations as they are', () => {
    const operation = operationWith({ description: 'Things.' });
    describeDeprecation(operation, handlerOf(ThingsController, 'list'));
    expect(operation).toEqual(operationWith({ description: 'Things.' }));
  });
});
