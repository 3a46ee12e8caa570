import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SSO_CALLBACK_CODES } from '../sso/sso.errors.js';
import { PAGE_LANGUAGES, PAGE_TEXTS } from './page-texts.js';

const FOLDER = join(import.meta.dirname, '../../account-pages');
const sourcesIn = (folder: string, ending: string) =>
  readdirSync(join(FOLDER, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(FOLDER, folder, name), 'utf8'))
    .join('\n');
const templates = sourcesIn('templates', '.eta');
const scripts = sourcesIn('static', '.mjs');
const { en } = PAGE_TEXTS;

/** Keys whose last part comes from a response or an address. */
const DYNAMIC = ['error.', 'reason.', 'sso.error.'];

describe('the texts of the account pages', () => {
  it.each(PAGE_LANGUAGES)('are complete, in %s', (language) => {
    const texts = PAGE_TEXTS[language];
    expect(Object.keys(texts)).toEqual(Object.keys(en));
    for (const text of Object.values(texts)) expect(text.trim()).not.toBe('');
  });

  it.each(PAGE_LANGUAGES)('use the same values, in %s', (language) => {
    const valuesIn = (texts: Record<string, string>) =>
      Object.entries(texts).map(([key, text]) => [key, (text.match(/\{\w+\}/g) ?? []).sort()]);
    expect(valuesIn(PAGE_TEXTS[language])).toEqual(valuesIn(en));
  });

  it('exist for every key that a template or a script names', () => {
    const named = [...`${templates}\n${scripts}`.matchAll(/\bt\(\s*'([\w.]+)'/g)].map(([, key]) => key ?? '');
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((key) => !Object.hasOwn(en, key))).toEqual([]);
  });

  it('are all used', () => {
    const all = `${templates}\n${scripts}`;
    const isUsed = (key: string) => all.includes(`'${key}'`) || DYNAMIC.some((prefix) => key.startsWith(prefix));
    expect(Object.keys(en).filter((key) => key !== 'language' && !isUsed(key))).toEqual([]);
  });
});

describe('the texts of failed sign-ins', () => {
  it.each(PAGE_LANGUAGES)('exist for each code of a callback, in %s', (language) => {
    const texts: Record<string, string> = PAGE_TEXTS[language];
    const general = ['epoch_unavailable']; // the visitor can do no more than with an unknown code
    const missing = SSO_CALLBACK_CODES.filter((code) => texts[`sso.error.${code}`] === undefined);
    expect(missing).toEqual(general);
    expect(texts['sso.error.other']).toContain('{code}');
  });
});

describe('the templates of the account pages', () => {
  it('contain no inline script, style or handler', () => {
    expect(templates).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i);
    expect(templates.match(/<script(?![^>]*\ssrc=)/g)).toBeNull();
  });

  it('write values unescaped only where they include other templates', () => {
    const raw = [...templates.matchAll(/<%~\s*([\w.]+)/g)].map(([, expression]) => expression);
    expect([...new Set(raw)].sort()).toEqual(['include', 'it.body']);
  });

  it('disable every button until the script has started, but those of forms that the server answers', () => {
    const posted = templates.match(/<form[^>]*data-posts[\s\S]*?<\/form>/g) ?? [];
    expect(posted.map((form) => /data-form="([\w-]+)"/.exec(form)?.[1]).sort()).toEqual([
      'accept',
      'accept-code',
      'forgot-password',
      'reset-password',
      'sign-up',
      'verify-email',
    ]);
    const buttons = templates.replace(/<form[^>]*data-posts[\s\S]*?<\/form>/g, '').match(/<button[^>]*>/g) ?? [];
    expect(buttons.length).toBeGreaterThan(30);
    expect(buttons.filter((button) => !/\sdisabled\b/.test(button))).toEqual([]);
  });

  it('never send a form by GET', () => {
    for (const form of templates.match(/<form[^>]*>/g) ?? []) expect(form).toContain('method="post"');
  });
});

describe('the scripts of the account pages', () => {
  it('set no HTML and store nothing', () => {
    expect(scripts).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|localStorage|sessionStorage|eval\(/,
    );
  });
});
