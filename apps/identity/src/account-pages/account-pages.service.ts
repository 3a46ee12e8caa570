import { Inject, Injectable } from '@nestjs/common';
import { Eta } from 'eta';
import { fileURLToPath } from 'node:url';
import { currentContext } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { IssuedSession } from '../sessions/sessions.service.js';
import { AccountAssetsService } from './account-assets.service.js';
import { PAGE_LANGUAGES, PAGE_TEXTS, type PageLanguage, type TextKey } from './page-texts.js';

/** The pages below `/account`; each is a template of that name. */
export const ACCOUNT_PAGES = [
  'accept-invite',
  'contact',
  'forgot-password',
  'inactive',
  'login',
  'reset-password',
  'security',
  'sign-up',
  'switch',
  'verify-email',
] as const;

export type AccountPage = (typeof ACCOUNT_PAGES)[number] | 'not-found';

export const isAccountPage = (name: string): name is AccountPage => (ACCOUNT_PAGES as readonly string[]).includes(name);

/** Query parameters that the language switch keeps. */
const KEPT_PARAMETERS = ['account', 'token', 'error', 'returnTo', 'orgId', 'reason'] as const;

/** The part of a page that is shown; `code` asks for a second factor. */
export type PageStep =
  'form' | 'sent' | 'done' | 'invalid' | 'accepted' | 'code' | 'registered' | 'changed' | 'confirmed' | 'sign-in';

const NO_VALUES = { companyName: '', email: '', name: '', partner: '', tempToken: '' };
type PageValue = keyof typeof NO_VALUES;

/** The result of a posted form. */
export interface PageResult {
  status: number;
  step: PageStep;
  /** The code of the error that the form shows. */
  code?: string;
  /** Texts that the page shows or repeats in its form; no password. */
  values?: Readonly<Partial<Record<PageValue, string>>>;
  /** The session that the form opened. */
  session?: IssuedSession;
}

export interface PageRequest {
  page: AccountPage;
  language: PageLanguage;
  query: Readonly<Record<string, unknown>>;
  /** The result of a form that was posted without a script. */
  result?: PageResult;
}

/** The same path from `src` and from `dist`. */
const TEMPLATES = fileURLToPath(new URL('../../account-pages/templates', import.meta.url));

/** Renders the account pages. They contain no data of users: the script of a page reads that from the API. */
@Injectable()
export class AccountPagesService {
  private readonly eta = new Eta({ views: TEMPLATES, autoEscape: true, cache: true });

  constructor(
    private readonly assets: AccountAssetsService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  render({ page, language, query, result }: PageRequest): string {
    const texts: Readonly<Record<TextKey, string>> = PAGE_TEXTS[language];
    const base = new URL(this.config.publicApiUrl).pathname.replace(/\/+$/, '');
    return this.eta.render(`./${page}`, {
      page,
      language,
      languages: PAGE_LANGUAGES.map((code) => ({ code, href: hrefOf(code, query), name: PAGE_TEXTS[code].language })),
      base,
      assets: `${base}/account/assets/${this.assets.version}`,
      apiUrl: this.config.publicApiUrl,
      product: this.config.mfa.issuer,
      registration: this.config.registrationEnabled,
      mfa: this.config.mfa.enabled,
      status: statusOf(texts, page, query),
      step: result?.step ?? 'form',
      values: { ...NO_VALUES, ...result?.values },
      isExisting: query.account === 'existing',
      error: result?.code === undefined ? '' : errorOf(texts, result),
      t: (key: TextKey, values: Readonly<Record<string, string>> = {}) => fillText(textOf(texts, key), values),
    });
  }
}

/** @throws Error for a key that no language has: a template names a text that does not exist */
function textOf(texts: Readonly<Record<string, string>>, key: string): string {
  const text = Object.hasOwn(texts, key) ? texts[key] : undefined;
  if (text === undefined) throw new Error(`no text "${key}" for the account pages`);
  return text;
}

/** Returns the text for the error of a form. */
function errorOf(texts: Readonly<Record<string, string>>, { code, status }: PageResult): string {
  const key = [`error.${code}`, `error.${status}`].find((candidate) => Object.hasOwn(texts, candidate));
  const { requestId = '-' } = currentContext() ?? {};
  return fillText(textOf(texts, key ?? 'error.unknown'), { id: requestId, minutes: '5' });
}

/** Returns the message that the address names, so that it is shown without a script too; empty without one. */
function statusOf(
  texts: Readonly<Record<string, string>>,
  page: AccountPage,
  { error, reason }: Readonly<Record<string, unknown>>,
): string {
  if (page === 'login' && typeof error === 'string') {
    const key = `sso.error.${error}`;
    const code = error.slice(0, 60);
    return fillText(textOf(texts, Object.hasOwn(texts, key) ? key : 'sso.error.other'), { code });
  }
  const key = `reason.${typeof reason === 'string' ? reason : ''}`;
  return Object.hasOwn(texts, key) ? textOf(texts, key) : '';
}

const fillText = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);

/** Returns the address of the same page in another language. */
function hrefOf(language: PageLanguage, query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams({ lang: language });
  for (const name of KEPT_PARAMETERS) {
    const value = query[name];
    if (typeof value === 'string') parameters.set(name, value);
  }
  return `?${parameters.toString()}`;
}
