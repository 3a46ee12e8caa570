import { GERMAN } from './templates.de.js';

/** What a mail says in one language, in both forms. */
export interface RenderedMail {
  subject: string;
  text: string;
  html: string;
}

type Values = Record<string, string>;

export interface Template {
  subject: string;
  /** Paragraphs; `{name}` is filled in. */
  paragraphs: string[];
  /** The button's label; the mail then needs the value `url`. */
  action?: string;
}

/** One set of texts per locale; what a locale lacks is taken from English. */
const TEMPLATES = {
  en: {
    'verify-registration': {
      subject: 'Confirm your e-mail address',
      paragraphs: [
        'Hello {name},',
        'please confirm your e-mail address to finish setting up {companyName}. The link works for one hour.',
        'If you did not sign up, you can ignore this mail.',
      ],
      action: 'Confirm address',
    },
    invite: {
      subject: 'You have been invited to {tenantName}',
      paragraphs: [
        'Hello {name},',
        'you have been invited to join {tenantName}. Choose a password to accept. The link works for seven days.',
      ],
      action: 'Accept invitation',
    },
    'membership-added': {
      subject: 'You now have access to {tenantName}',
      paragraphs: ['Hello {name},', 'your account has been given access to {tenantName}. Sign in as you always do.'],
    },
    'account-locked': {
      subject: 'Sign-in to your account is paused',
      paragraphs: [
        'Hello {name},',
        'there were several sign-in attempts with a wrong password, so sign-in to your account is paused for a while.',
        'If it was not you, choose a new password.',
      ],
      action: 'Choose a new password',
    },
    'password-changed': {
      subject: 'Your password was changed',
      paragraphs: [
        'Hello {name},',
        'the password of your account was changed and all sessions were signed out.',
        'If it was not you, tell your administrator at once.',
      ],
    },
    'password-reset': {
      subject: 'Choose a new password',
      paragraphs: [
        'Hello {name},',
        'somebody asked for a new password for your account. The link works for one hour, and only the newest one works.',
        'If it was not you, you can ignore this mail: your password stays as it is.',
      ],
      action: 'Choose a new password',
    },
    'new-device': {
      subject: 'New sign-in to your account',
      paragraphs: [
        'Hello {name},',
        'your account was signed in to from a device we have not seen before: {device}, address {address}, at {time}.',
        'If it was not you, change your password at once: that ends every session.',
      ],
    },
    'verify-address': {
      subject: 'Confirm your e-mail address',
      paragraphs: ['Hello {name},', 'please confirm that this is your e-mail address. The link works for one hour.'],
      action: 'Confirm address',
    },
    'email-change-confirm': {
      subject: 'Confirm your new e-mail address',
      paragraphs: [
        'Hello {name},',
        'please confirm that your account is to use this address from now on. The link works for one hour.',
        'If you did not ask for it, you can ignore this mail.',
      ],
      action: 'Confirm new address',
    },
    'email-change-notice': {
      subject: 'A new e-mail address was asked for',
      paragraphs: [
        'Hello {name},',
        'a new address was asked for your account: {newEmail}. Nothing changes until it is confirmed.',
        'If it was not you, change your password at once.',
      ],
    },
    'email-changed': {
      subject: 'The e-mail address of your account was changed',
      paragraphs: [
        'Hello {name},',
        'your account now uses the address {newEmail}, and all sessions were signed out.',
        'If it was not you, tell your administrator at once.',
      ],
    },
    'mfa-enabled': {
      subject: 'Two-step sign-in is on',
      paragraphs: [
        'Hello {name},',
        'a second factor was added to your account.',
        'If it was not you, tell your administrator at once.',
      ],
    },
    'mfa-disabled': {
      subject: 'Two-step sign-in is off',
      paragraphs: [
        'Hello {name},',
        'the second factor of your account was removed.',
        'If it was not you, tell your administrator at once.',
      ],
    },
    'mfa-reset': {
      subject: 'Your second factor was reset',
      paragraphs: [
        'Hello {name},',
        'an administrator removed the second factor of your account and signed you out everywhere.',
        'Set up a new one when you sign in next.',
      ],
    },
    'mfa-grace-opened': {
      subject: 'Please set up two-step sign-in',
      paragraphs: [
        'Hello {name},',
        'your role needs a second factor. Please set one up before {deadline}; after that you cannot work without it.',
      ],
    },
    'mfa-grace-ending': {
      subject: 'Two-step sign-in: a few days left',
      paragraphs: [
        'Hello {name},',
        'please set up a second factor before {deadline}; after that you cannot work without it.',
      ],
    },
    'api-key-expiring': {
      subject: 'The API key "{keyName}" expires soon',
      paragraphs: [
        'Hello {name},',
        'the API key "{keyName}" ({keyPrefix}...), which you made, expires on {expiresAt}. What uses it stops working then.',
        'Make a new key in its place before that day.',
      ],
    },
    'webhook-failed': {
      subject: 'The webhook "{webhookName}" was switched off',
      paragraphs: [
        'Hello {name},',
        'the webhook "{webhookName}" of {organizationName} gets no more events: its receiver has not accepted one since {failingSince}.',
        'When the receiver works again, set the webhook to active and recover what it missed.',
      ],
    },
  },
  de: GERMAN,
} satisfies Record<string, Record<string, Template>>;

export type TemplateName = keyof (typeof TEMPLATES)['en'];

const FALLBACK = 'en';

/**
 * Renders a mail. Values are escaped in HTML and freed of line breaks everywhere, so that a name adds no header or tag.
 * @param locale  a BCP 47 tag; only its language counts
 */
export function renderMail(name: TemplateName, values: Values, locale = FALLBACK): RenderedMail {
  const locales: Record<string, Partial<Record<TemplateName, Template>>> = TEMPLATES;
  const [language = FALLBACK] = locale.toLowerCase().split('-');
  const template: Template = locales[language]?.[name] ?? TEMPLATES[FALLBACK][name];
  const plain = (text: string) => fill(text, values, oneLine);
  const safe = (text: string) => fill(text, values, (value) => escapeHtml(oneLine(value)));
  const { action, paragraphs, subject } = template;
  const link = action ? { label: action, url: values.url ?? '' } : null;
  return {
    subject: plain(subject),
    text: [...paragraphs.map(plain), ...(link ? [`${link.label}: ${link.url}`] : [])].join('\n\n'),
    html: page([
      ...paragraphs.map((paragraph) => `<p>${safe(escapeHtml(paragraph))}</p>`),
      ...(link ? [`<p><a href="${escapeHtml(link.url)}">${link.label}</a></p>`] : []),
    ]),
  };
}

export const isTemplate = (name: string): name is TemplateName => Object.hasOwn(TEMPLATES[FALLBACK], name);

const fill = (text: string, values: Values, form: (value: string) => string): string =>
  text.replace(/\{(\w+)\}/g, (_, key: string) => form(values[key] ?? ''));

// eslint-disable-next-line no-control-regex
const oneLine = (value: string): string => value.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (value: string): string => value.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

const page = (parts: string[]): string =>
  `<!doctype html><html><body style="font-family:sans-serif;line-height:1.5;max-width:36em">${parts.join('')}</body></html>`;
