import { natsOptions, parseNatsUrl } from './nats-options.js';

describe('parseNatsUrl', () => {
  it('decodes the login of the URL', () => {
    expect(parseNatsUrl('nats://identity:p%40ss%3Aword@127.0.0.1:4333')).toEqual({
      servers: ['nats://127.0.0.1:4333'],
      user: 'identity',
      pass: 'p@ss:word',
    });
  });

  it('reads several servers, the default port and a URL without a login', () => {
    expect(parseNatsUrl('nats://a:4222, b')).toEqual({ servers: ['nats://a:4222', 'nats://b:4222'] });
    expect(() => parseNatsUrl('')).toThrow('names no server');
  });
});

describe('natsOptions', () => {
  it('gives each login an inbox prefix of its own', () => {
    expect(natsOptions('nats://identity:x@a', 'replica').inboxPrefix).toBe('_INBOX.identity');
    expect(natsOptions('nats://a', 'identity').inboxPrefix).toBe('_INBOX.identity');
  });
});
