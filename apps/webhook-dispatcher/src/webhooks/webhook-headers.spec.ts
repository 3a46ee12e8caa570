import { headerComplaints, isReservedHeader } from './webhook-headers.js';

describe('headerComplaints', () => {
  it('takes ordinary headers', () => {
    expect(
      headerComplaints([
        { key: 'X-Environment', value: 'prod' },
        { key: 'Authorization', value: 'Bearer abc' },
      ]),
    ).toEqual({});
  });

  it.each([
    'Host',
    'content-type',
    'Content-Length',
    'USER-AGENT',
    'connection',
    'Transfer-Encoding',
    'te',
    'trailer',
    'upgrade',
    'Keep-Alive',
    'Proxy-Authorization',
    'expect',
    'X-Service-Signature',
    'x-service-anything',
  ])('refuses the reserved name %s', (key) => {
    expect(isReservedHeader(key)).toBe(true);
    expect(headerComplaints([{ key, value: 'v' }])).toEqual({ 'headers.0.key': ['is a reserved header'] });
  });

  it.each(['', 'a b', 'a:b', 'a\r\nb', 'é', 'a'.repeat(256)])('refuses the name %p', (key) => {
    expect(headerComplaints([{ key, value: 'v' }])).toEqual({ 'headers.0.key': ['must be a valid header name'] });
  });

  it.each(['a\r\nX-Evil: 1', 'a\u0000b', 'a\tb', 'snow ☃', 'v'.repeat(4_097)])('refuses the value %p', (value) => {
    expect(headerComplaints([{ key: 'X-A', value }])).toEqual({ 'headers.0.value': ['must be a valid header value'] });
  });

  it('refuses one name in two spellings', () => {
    expect(
      headerComplaints([
        { key: 'X-A', value: '1' },
        { key: 'x-a', value: '2' },
      ]),
    ).toEqual({ 'headers.1.key': ['is given twice'] });
  });
});
