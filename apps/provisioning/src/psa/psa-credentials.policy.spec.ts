import { AddressRules } from '@rmm/outbound';
import { ValidationError } from '@rmm/service-kit';
import { assertPsaSettings, mergeCredentials, splitCredentials } from './psa-credentials.policy.js';
import { CREDENTIAL_FIELDS, PSA_PROVIDERS } from './psa-providers.constants.js';

const RULES = new AddressRules({ isHosted: true });
const STORED = { baseUrl: 'https://acme.zendesk.com', email: 'sync@acme.example', apiToken: 'secret' };

const merge = (changes: Record<string, unknown>, stored: Record<string, string> = STORED) =>
  mergeCredentials('zendesk', stored, changes, RULES);

function problemsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof ValidationError) return Object.keys(error.fieldErrors ?? {});
    throw error;
  }
  return [];
}

describe('mergeCredentials', () => {
  it('replaces named credentials, keeps the others and deletes with null', () => {
    expect(merge({ email: ' other@acme.example ' })).toEqual({ ...STORED, email: 'other@acme.example' });
    expect(merge({ apiToken: null })).toEqual({ baseUrl: STORED.baseUrl, email: STORED.email });
    expect(merge({})).toEqual(STORED);
  });

  it('removes slashes at the end of the base URL', () => {
    expect(merge({ baseUrl: 'https://acme.zendesk.com///' })['baseUrl']).toBe(STORED.baseUrl);
  });

  it.each([
    ['a field of another provider', { privateKey: 'x' }, ['credentials.privateKey']],
    ['a name of the prototype', { constructor: 'x' }, ['credentials.constructor']],
    ['a number', { apiToken: 7 }, ['credentials.apiToken']],
    ['blank text', { email: '  ' }, ['credentials.email']],
    ['a line break, which would end a header', { apiToken: 'a\r\nX-Evil: 1' }, ['credentials.apiToken']],
    ['text of 8,193 characters', { apiToken: 'x'.repeat(8_193) }, ['credentials.apiToken']],
    ['half of a surrogate pair', { apiToken: 'a\ud800' }, ['credentials.apiToken']],
    ['two bad credentials', { apiToken: 7, email: 8 }, ['credentials.apiToken', 'credentials.email']],
  ])('refuses %s and names it', (_what, changes, fields) => {
    expect(problemsOf(() => merge(changes))).toEqual(fields);
  });

  it.each([
    'acme.zendesk.com',
    'ftp://acme.zendesk.com',
    'http://acme.zendesk.com',
    'https://user:password@acme.zendesk.com',
    'https://acme.zendesk.com/?a=b',
    'https://acme.zendesk.com/#a',
    'https://localhost',
    'https://127.0.0.1',
    'https://169.254.169.254',
    'https://[::1]',
    `https://acme.zendesk.com/${'x'.repeat(2_048)}`,
  ])('refuses the base URL %.60s', (baseUrl) => {
    expect(problemsOf(() => merge({ baseUrl, apiToken: 'new' }))).toEqual(['credentials.baseUrl']);
  });

  it('requires the secrets again with a base URL of another origin', () => {
    const moved = { baseUrl: 'https://attacker.example' };
    expect(problemsOf(() => merge(moved))).toEqual(['credentials.apiToken']);
    expect(merge({ ...moved, apiToken: 'new' })).toEqual({ ...STORED, ...moved, apiToken: 'new' });
    expect(merge({ baseUrl: `${STORED.baseUrl}/path` })['apiToken']).toBe('secret');
  });

  it.each(['https://acme.zendesk.com:8443', 'https://acme.zendesk.com.evil.example'])(
    'takes %s for another origin',
    (baseUrl) => {
      expect(problemsOf(() => merge({ baseUrl }))).toEqual(['credentials.apiToken']);
    },
  );

  it('requires the secrets again when the base URL is deleted, since any could follow', () => {
    expect(problemsOf(() => merge({ baseUrl: null }))).toEqual(['credentials.apiToken']);
  });
});

describe('splitCredentials', () => {
  it.each(PSA_PROVIDERS)('keeps every secret of %s apart from what may be shown', (provider) => {
    const { public: names, secret } = CREDENTIAL_FIELDS[provider];
    const credentials = Object.fromEntries([...names, ...secret].map((name) => [name, name]));
    const split = splitCredentials(provider, credentials);
    expect(Object.keys(split.shown).sort()).toEqual([...names].sort());
    expect(Object.keys(split.secret).sort()).toEqual([...secret].sort());
  });
});

describe('assertPsaSettings', () => {
  it.each(['core_company', 'customer_account', 'u_customers2'])('accepts the table %s', (companyTable) => {
    expect(problemsOf(() => assertPsaSettings('servicenow', { companyTable }))).toEqual([]);
  });

  it.each(['../users', 'Core', '', '1a', 'a b', 'x'.repeat(81), 7, null])('refuses the table %p', (companyTable) => {
    expect(problemsOf(() => assertPsaSettings('servicenow', { companyTable }))).toEqual(['settings.companyTable']);
  });

  it('leaves settings of other providers and unknown ones as they are', () => {
    expect(problemsOf(() => assertPsaSettings('zendesk', { companyTable: '../x' }))).toEqual([]);
    expect(problemsOf(() => assertPsaSettings('servicenow', { color: 'blue' }))).toEqual([]);
  });
});
