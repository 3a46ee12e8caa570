import { ConfigReader } from '@rmm/service-kit';
import { readWebAuthnConfig } from './webauthn.config.js';

const read = (env: NodeJS.ProcessEnv, publicAppUrl = 'https://app.example.com/account') => {
  const reader = new ConfigReader(env);
  return { config: readWebAuthnConfig(reader, { publicAppUrl }), problems: reader.problems };
};

describe('readWebAuthnConfig', () => {
  it('takes domain and origin from the web application, whatever its path', () => {
    const { config, problems } = read({});
    expect(config).toEqual({ rpId: 'app.example.com', rpName: 'RMM', origins: ['https://app.example.com'] });
    expect(problems).toEqual([]);
    expect(read({}, 'http://localhost:8081/account').config).toMatchObject({
      rpId: 'localhost',
      origins: ['http://localhost:8081'],
    });
  });

  it('accepts origins of the domain and of those below it', () => {
    const env = { WEBAUTHN_RP_ID: 'example.com', WEBAUTHN_ORIGIN: 'https://example.com,https://a.b.example.com:8443' };
    expect(read(env)).toMatchObject({
      config: { rpId: 'example.com', origins: ['https://example.com', 'https://a.b.example.com:8443'] },
      problems: [],
    });
  });

  it.each([
    ['https://example.org', 'outside of WEBAUTHN_RP_ID'],
    ['https://notexample.com', 'outside of WEBAUTHN_RP_ID'],
    ['https://example.com.evil.test', 'outside of WEBAUTHN_RP_ID'],
    ['https://app.example.com/path', 'must list origins'],
    ['*', 'must list origins'],
  ])('refuses %s as an origin', (origin, problem) => {
    const { problems } = read({ WEBAUTHN_RP_ID: 'example.com', WEBAUTHN_ORIGIN: origin });
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it('refuses a domain that is a URL, and one that the web application is outside of', () => {
    expect(read({ WEBAUTHN_RP_ID: 'https://example.com' }).problems).not.toEqual([]);
    expect(read({ WEBAUTHN_RP_ID: 'other.test' }).problems).toEqual([
      expect.stringContaining('outside of WEBAUTHN_RP_ID'),
    ]);
  });
});
