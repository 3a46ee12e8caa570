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
  'mfa-grace-opened': 'name' | 'deadline';
  'mfa-grace-ending': 'name' | 'deadline';
  'api-key-expiring': 'keyName' | 'name' | 'keyPrefix' | 'expiresAt';
  'webhook-failed': 'webhookName' | 'name' | 'organizationName' | 'failingSince';
}

export type MailTemplateName = keyof MailVariables;

/** The texts of a mail in one language; `{name}` is replaced by a value. */
export interface MailTemplate {
  subject: string;
  paragraphs: string[];
  /** The label of the button to the value `url`. */
  action?: string;
}

export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

type Values = Readonly<Record<string, string>>;

const FALLBACK: Readonly<Record<MailTemplateName, MailTemplate>> = en;

/** Texts by language, in `templates/<language>.json`. A template that a language lacks is sent in English. */
export const MAIL_TEMPLATES: Readonly<Record<string, Partial<Record<MailTemplateName, MailTemplate>>>> = { en, de };

/**
 * Renders a mail as text and HTML. Values are escaped in HTML and line breaks in them are removed, so that a name cannot
 * add a header or a tag.
 * @param locale  a BCP 47 tag; only its language counts
 */
export function renderMail(name: MailTemplateName, values: Values, locale = 'en'): RenderedMail {
  const [language = 'en'] = locale.toLowerCase().split('-');
  const { action, paragraphs, subject } = MAIL_TEMPLATES[language]?.[name] ?? FALLBACK[name];
  const plain = (text: string) => fill(text, values, removeLineBreaks);
  const safe = (text: string) => fill(text, values, (value) => escapeHtml(removeLineBreaks(value)));
  const link = action ? { label: action, url: values.url ?? '' } : null;
  return {
    subject: plain(subject),
    text: [...paragraphs.map(plain), ...(link ? [`${link.label}: ${link.url}`] : [])].join('\n\n'),
    html: page([
      ...paragraphs.map((paragraph) => `<p>${safe(escapeHtml(paragraph))}</p>`),
      ...(link ? [`<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.label)}</a></p>`] : []),
    ]),
  };
}

export const isMailTemplate = (name: string): name is MailTemplateName => Object.hasOwn(FALLBACK, name);

const fill = (text: string, values: Values, form: (value: string) => string): string =>
  text.replace(/\{(\w+)\}/g, (_, key: string) => form(values[key] ?? ''));

// eslint-disable-next-line no-control-regex
const removeLineBreaks = (value: string): string => value.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (value: string): string => value.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

const page = (parts: string[]): string =>
  `<!doctype html><html><body style="font-family:sans-serif;line-height:1.5;max-width:36em">${parts.join('')}</body></html>`;
