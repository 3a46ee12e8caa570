import { readPartnerGatewayConfig } from './config.js';

const ENVIRONMENT = {
  DATABASE_URL: 'postgres://service@127.0.0.1/none',
  WORKER_DATABASE_URL: 'postgres://worker@127.0.0.1/none',
  NATS_URL: 'nats://127.0.0.1:4222',
  REDIS_URL: 'redis://:secret@127.0.0.1:6379',
  PUBLIC_API_URL: 'https://api.fleet.example',
  PUBLIC_APP_URL: 'https://app.fleet.example',
};

describe('readPartnerGatewayConfig', () => {
  it('requires a cursor key in production and refuses a short key', () => {
    expect(() => readPartnerGatewayConfig({ ...ENVIRONMENT, NODE_ENV: 'production' })).toThrow(
      'PARTNER_API_CURSOR_SIGNING_KEY is required',
    );
    const short = { ...ENVIRONMENT, PARTNER_API_CURSOR_SIGNING_KEY: 'x'.repeat(31) };
    expect(() => readPartnerGatewayConfig(short)).toThrow('PARTNER_API_CURSOR_SIGNING_KEY must have 32 bytes or more');
    expect(() => readPartnerGatewayConfig(short)).not.toThrow('xxxx');
  });

  it('generates a cursor key outside production', () => {
    const { cursorSigningKey } = readPartnerGatewayConfig(ENVIRONMENT);
    expect(Buffer.byteLength(cursorSigningKey)).toBeGreaterThanOrEqual(32);
    expect(readPartnerGatewayConfig(ENVIRONMENT).cursorSigningKey).not.toBe(cursorSigningKey);
  });

  it('reads the limits of MCP', () => {
    const usual = { messagesPerMinute: 120, streamsPerMinute: 30, maxSessions: 5, sessionTtlSeconds: 660 };
    expect(readPartnerGatewayConfig(ENVIRONMENT).mcp).toEqual(usual);
    const { mcp } = readPartnerGatewayConfig({ ...ENVIRONMENT, MCP_MAX_SESSIONS: '7', MCP_MESSAGES_PER_MINUTE: '' });
    expect(mcp).toEqual({ ...usual, maxSessions: 7 });
    for (const name of ['MESSAGES_PER_MINUTE', 'STREAMS_PER_MINUTE', 'MAX_SESSIONS', 'SESSION_TTL_SECONDS']) {
      expect(() => readPartnerGatewayConfig({ ...ENVIRONMENT, [`MCP_${name}`]: '0' })).toThrow(`MCP_${name}`);
    }
  });

  it('lets every principal with the scope create enrollment keys unless restrictions are required', () => {
    const isRequired = (PARTNER_MINT_REQUIRES_RESTRICTED_PRINCIPAL?: string) =>
      readPartnerGatewayConfig({ ...ENVIRONMENT, PARTNER_MINT_REQUIRES_RESTRICTED_PRINCIPAL })
        .mintRequiresRestrictedPrincipal;
    expect([isRequired(), isRequired('true'), isRequired('false')]).toEqual([false, true, false]);
  });

  it('reads the addresses of the OpenAPI documents', () => {
    const OPENAPI_SOURCES =
      'identity=http://127.0.0.1:4001/openapi.json, credentials=http://127.0.0.1:4002/openapi.json?a=b';
    expect(readPartnerGatewayConfig({ ...ENVIRONMENT, OPENAPI_SOURCES }).openApiSources).toEqual([
      { name: 'identity', url: 'http://127.0.0.1:4001/openapi.json' },
      { name: 'credentials', url: 'http://127.0.0.1:4002/openapi.json?a=b' },
    ]);
    for (const bad of ['identity', '=http://x', 'identity=file:///etc/passwd']) {
      expect(() => readPartnerGatewayConfig({ ...ENVIRONMENT, OPENAPI_SOURCES: bad })).toThrow(
        'OPENAPI_SOURCES must list',
      );
    }
  });
});
