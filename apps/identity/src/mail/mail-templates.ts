import de from './templates/de.json' with { type: 'json' };
import en from './templates/en.json' with { type: 'json' };

/** The values that each template needs. A spec checks that every locale uses these and no others. */
export interface MailVariables {
  'verify-registration': 'name' | 'companyName' | 'url';
  invite: 'tenantName' | 'name' | 'url';
  'invite-member': 'tenantName' | 'name' | 'url';
  'account-locked': 'name' | 'url';
  'password-changed': 'name';
  'password-reset': 'name' | 'url';
  'new-device': 'name' | 'device' | 'address' | 'time';
  'verify-address': 'name' | 'url';
  'email-change-confirm': 'name' | 'url';
  'email-change-notice': 'name' | 'newEmail';
  'email-changed': 'name' | 'newEmail';
  'mfa-enabled': 'name';
  'mfa-disabled': 'name';
  'mfa-reset': 'name';
  'recovery-codes-replaced': 'name';
  'passkey-added': 'name' | 'passkeyName';
  'passkey-removed': 'name' | 'passkeyName';
  'sso-linked': 'name' | 'providerName';
  'sso-unlinked': 'name' | 'providerName';
  'mfa-grace-opened': 'name' | 'deadline';
  'mfa-grace-ending': 'name' | 'deadline';
  'api-key-expiring': 'keyName' | 'name' | 'keyPrefix' | 'expiresAt';
  'webhook-failed': 'webhookName' | 'name' | 'organizationName' | 'failingSince';
  'psa-sync-disabled': 'connectionName' | 'name' | 'provider';
}

export type MailTemplateName = keyof MailVariables;

/** The texts of a mail in one language; `{name}` is replaced by a value. */
export interface MailTemplate {
  subject: string;
  paragraphs: string[];
  /** The label of the button to the value `url`, or to `page`. */
  action?: string;
  /** A page of the web application, such as `security`, where a template has no link of its own. */
  page?: string;
}

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

/** Characters of a name in a mail. */
const MAX_NAME = 80;

type Values = Readonly<Record<string, string>>;

export interface MailOptions {
  /** A BCP 47 tag; only its language counts. */
  locale?: string;
  /** `PUBLIC_APP_URL`, for templates that lead to a page. */
  appUrl?: string;
}

const FALLBACK: Readonly<Record<MailTemplateName, MailTemplate>> = en;

/** Texts by language, in `templates/<language>.json`. A template that a language lacks is sent in English. */
export const MAIL_TEMPLATES: Readonly<Record<string, Partial<Record<MailTemplateName, MailTemplate>>>> = { en, de };

/**
 * Renders a mail as text and HTML. Values are escaped in HTML and line breaks in them are removed, so that a name cannot
 * add a header or a tag. Names are cut to 80 characters and contain no link.
 */
export function renderMail(
  name: MailTemplateName,
  values: Values,
  { locale = 'en', appUrl = '' }: MailOptions = {},
): RenderedMail {
  const wanted = locale.toLowerCase().split('-', 1)[0] ?? '';
  const language = MAIL_TEMPLATES[wanted]?.[name] ? wanted : 'en';
  const { action, page, paragraphs, subject } = MAIL_TEMPLATES[language]?.[name] ?? FALLBACK[name];
  const plain = (text: string) => fill(text, values, (value, key) => lineOf(key, value));
  const safe = (text: string) => fill(text, values, (value, key) => escapeHtml(lineOf(key, value)));
  const link = action ? { label: action, url: page ? `${appUrl}/${page}` : (values.url ?? '') } : null;
  return {
    subject: plain(subject),
    text: [...paragraphs.map(plain), ...(link ? [`${link.label}: ${link.url}`] : [])].join('\n\n'),
    html: renderPage(language, plain(subject), [
      ...paragraphs.map((paragraph) => `<p style="margin:0 0 16px">${safe(escapeHtml(paragraph))}</p>`),
      ...(link ? [renderButton(link.label, link.url)] : []),
    ]),
  };
}

export const isMailTemplate = (name: string): name is MailTemplateName => Object.hasOwn(FALLBACK, name);

const fill = (text: string, values: Values, form: (value: string, key: string) => string): string =>
  text.replace(/\{(\w+)\}/g, (_, key: string) => form(values[key] ?? '', key));

/** Names are chosen by users, also by those who want our mails to carry their message or link. */
const lineOf = (key: string, value: string): string =>
  /name$/i.test(key) ? boundName(removeLineBreaks(value)) : removeLineBreaks(value);

const removeLineBreaks = (value: string): string =>
  // eslint-disable-next-line no-control-regex
  value.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').replace(/[^\P{Cf}\u200c\u200d]+/gu, '');

/** Shortens a name and separates what mail clients would turn into a link: `evil.example` becomes `evil. example`. */
function boundName(value: string): string {
  const name = value.replace(/[a-z][a-z0-9+.-]*:\/+/gi, '').replace(/\.(?=[\p{L}\p{N}])/gu, '. ');
  const characters = [...name];
  return characters.length <= MAX_NAME ? name : `${characters.slice(0, MAX_NAME - 1).join('')}…`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (value: string): string => value.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** Styles are attributes: most mail programs remove style elements. The address is readable where buttons are not. */
const renderButton = (label: string, url: string): string =>
  `<p style="margin:24px 0"><a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 22px;border-radius:8px;background:#1f5fbf;color:#ffffff;font-weight:600;text-decoration:none">${escapeHtml(label)}</a></p>` +
  `<p style="margin:0;font-size:13px;color:#516075;word-break:break-all">${escapeHtml(url)}</p>`;

const renderPage = (language: string, subject: string, parts: string[]): string =>
  `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(subject)}</title></head>` +
  '<body style="margin:0;padding:24px 12px;background:#f3f5f9;color:#182230;font:16px/1.5 system-ui,-apple-system,Segoe UI,Roboto,Arial,sans-serif">' +
  '<div style="max-width:560px;margin:0 auto;padding:28px 32px;background:#ffffff;border:1px solid #dde3ec;border-radius:12px">' +
  `${parts.join('')}</div></body></html>`;
