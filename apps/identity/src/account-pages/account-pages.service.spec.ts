import type { IdentityConfig } from '../config.js';
import { AccountAssetsService } from './account-assets.service.js';
import { ACCOUNT_PAGES, AccountPagesService, isAccountPage } from './account-pages.service.js';
import { PAGE_LANGUAGES } from './page-texts.js';

const assets = new AccountAssetsService();

function pagesWith(changes: object = {}): AccountPagesService {
  const mfa = { enabled: true, issuer: 'RMM' };
  const config = { publicApiUrl: 'https://api.example/rmm', registrationEnabled: true, mfa, ...changes };
  return new AccountPagesService(assets, config as IdentityConfig);
}

describe('AccountPagesService', () => {
  const pages = pagesWith();
  const cases = PAGE_LANGUAGES.flatMap((language) =>
    [...ACCOUNT_PAGES, 'not-found' as const].map((page) => [page, language] as const),
  );

  it.each(cases)(
    'renders %s in %s with one heading in view, labels for inputs and links below the base path',
    (page, language) => {
      const html = pages.render({ page, language, query: {} });
      expect(html).toContain(`lang="${language}"`);
      expect(html).toContain('data-api="/rmm/api/v1"');
      expect(html).toContain(`src="/rmm/account/assets/${assets.version}/main.mjs"`);
      expect(html).not.toMatch(/undefined|\[object|<%/);
      const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const [, id] of html.matchAll(/<(?:input|select)[^>]*\sid="([^"]+)"/g))
        expect(html).toContain(`for="${id}"`);
    },
  );

  it('escapes what an address contains', () => {
    const token = `"><script>alert(1)</script>`;
    const html = pages.render({ page: 'accept-invite', language: 'en', query: { token, error: "'&<b>", other: 'x' } });
    expect(html).not.toMatch(/<script>|<b>|other=/);
    expect(html).toContain('token=%22%3E%3Cscript%3E');
  });

  it('escapes the name of the product', () => {
    const html = pagesWith({ mfa: { enabled: true, issuer: '<i>"R&D"</i>' } }).render({
      page: 'login',
      language: 'en',
      query: {},
    });
    expect(html).toContain('&lt;i&gt;&quot;R&amp;D&quot;&lt;/i&gt;');
    expect(html).not.toContain('<i>');
  });

  it.each([
    ['login', { error: 'user_not_found' }, 'You have no account here yet'],
    ['login', { error: '<b>' }, 'The sign-in did not work (&lt;b&gt;)'],
    ['login', { reason: 'signed_out' }, 'You are signed out.'],
  ] as const)('shows the message that the address of %s names, without a script: %j', (page, query, text) => {
    const html = pages.render({ page, language: 'en', query });
    expect(/<p id="status" class="message" role="status">([^<]*)</.exec(html)?.[1]).toContain(text);
  });

  it.each([{}, { reason: 'toString' }, { error: ['user_not_found'] }, { reason: { signed_out: '1' } }])(
    'shows no message for %j',
    (query) => {
      const html = pages.render({ page: 'login', language: 'en', query });
      expect(html).toContain('<p id="status" class="message" role="status" hidden></p>');
    },
  );

  it('keeps the token of a link when the language is switched', () => {
    const html = pages.render({ page: 'verify-email', language: 'en', query: { lang: 'en', token: 'abc_DEF-1' } });
    expect(html).toContain('href="?lang=de&amp;token=abc_DEF-1"');
  });

  it('offers sign-up only where it is open', () => {
    const closed = pagesWith({ registrationEnabled: false });
    expect(closed.render({ page: 'login', language: 'en', query: {} })).not.toContain('href="sign-up"');
    expect(closed.render({ page: 'sign-up', language: 'en', query: {} })).toContain('Sign-up is closed');
    expect(pages.render({ page: 'login', language: 'en', query: {} })).toContain('href="sign-up"');
  });

  it('shows no factors where MFA is off', () => {
    const off = pagesWith({ mfa: { enabled: false, issuer: 'RMM' } });
    for (const page of ['login', 'security', 'accept-invite'] as const) {
      expect(off.render({ page, language: 'en', query: {} })).not.toMatch(
        /id="factors"|data-step="factor"|passkey-sign-in/,
      );
    }
  });
});

describe('isAccountPage', () => {
  it('knows the pages only', () => {
    expect(isAccountPage('login')).toBe(true);
    for (const name of ['layout', 'field', 'not-found', 'toString', '../login'])
      expect(isAccountPage(name)).toBe(false);
  });
});
