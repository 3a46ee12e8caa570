import { headerErrors, isReservedHeader, sendableHeaders } from './webhook-headers.policy.js';

describe('headerErrors', () => {
  it('takes ordinary headers', () => {
    expect(
      headerErrors([
        { key: 'X-Environment', value: 'prod' },
        { key: 'Authorization', value: 'Bearer abc' },
        { key: 'X-Forward', value: 'no' },
        { key: 'X-Original-Ticket', value: '7' },
        { key: 'X-Realm', value: 'emea' },
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
    'X-SERVICE-SIGNATURE-PREVIOUS',
    '__proto__',
    'webhook-id',
    'Webhook-Signature',
    'Metadata',
    'metadata-flavor',
    'X-aws-ec2-metadata-token',
    'X-aws-ec2-metadata-token-ttl-seconds',
    'X-Google-Metadata-Request',
    'x-amz-security-token',
    'X-Azure-Anything',
    'x-aliyun-ecs-metadata-token',
    'Forwarded',
    'X-Forwarded-For',
    'x-forwarded-host',
    'X-Forwarded',
    'X-Real-IP',
    'X-Client-IP',
    'X-Original-URL',
    'x-original-host',
    'X-Rewrite-URL',
    'X-HTTP-Method-Override',
    'x-http-method',
    'X-Method-Override',
  ])('refuses the reserved name %s', (key) => {
    expect(isReservedHeader(key)).toBe(true);
    expect(headerErrors([{ key, value: 'v' }])).toEqual({ 'headers.0.key': ['is a reserved header'] });
  });

  it.each(['', 'a b', 'a:b', 'a\r\nb', 'é', 'a'.repeat(256)])('refuses the name %p', (key) => {
    expect(headerErrors([{ key, value: 'v' }])).toEqual({ 'headers.0.key': ['must be a valid header name'] });
  });

  it.each(['a\r\nX-Evil: 1', 'a\u0000b', 'a\tb', 'snow ☃', 'v'.repeat(4_097)])('refuses the value %p', (value) => {
    expect(headerErrors([{ key: 'X-A', value }])).toEqual({ 'headers.0.value': ['must be a valid header value'] });
  });

  it('refuses one name in two spellings', () => {
    expect(
      headerErrors([
        { key: 'X-A', value: '1' },
        { key: 'x-a', value: '2' },
      ]),
    ).toEqual({ 'headers.1.key': ['is given twice'] });
  });
});

describe('sendableHeaders', () => {
  it('leaves out of a row what the API would have refused, and keeps the first of two spellings', () => {
    const fine = [
      { key: 'X-A', value: '1' },
      { key: 'Authorization', value: 'Bearer abc' },
    ];
    const bad = [
      { key: 'x-a', value: '2' },
      { key: 'X-Service-Signature', value: 'sha256=forged' },
      { key: 'WEBHOOK-SIGNATURE', value: 'v1,forged' },
      { key: 'hOST', value: 'internal' },
      { key: 'X-HTTP-Method-Override', value: 'DELETE' },
      { key: 'forwarded', value: 'for=10.0.0.1' },
      { key: 'X-B\r\nX-Service-Signature', value: 'forged' },
      { key: 'X-C', value: 'a\r\nX-Service-Signature: forged' },
      { key: '\u212aeep-alive', value: 'the Kelvin sign is no k' },
      { key: '', value: 'v' },
    ];
    expect(sendableHeaders([...bad.slice(1), ...fine, ...bad])).toEqual(fine);
  });
});
