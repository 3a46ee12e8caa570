import type { Template } from './templates.js';

/** The texts in German. What is missing here goes out in English. */
export const GERMAN = {
  'verify-registration': {
    subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
    paragraphs: [
      'Guten Tag {name},',
      'bitte bestätigen Sie Ihre E-Mail-Adresse, um die Einrichtung von {companyName} abzuschließen. Der Link gilt eine Stunde.',
      'Falls Sie sich nicht angemeldet haben, können Sie diese E-Mail ignorieren.',
    ],
    action: 'Adresse bestätigen',
  },
  invite: {
    subject: 'Sie wurden zu {tenantName} eingeladen',
    paragraphs: [
      'Guten Tag {name},',
      'Sie wurden zu {tenantName} eingeladen. Wählen Sie ein Passwort, um anzunehmen. Der Link gilt sieben Tage.',
    ],
    action: 'Einladung annehmen',
  },
  'membership-added': {
    subject: 'Sie haben jetzt Zugang zu {tenantName}',
    paragraphs: ['Guten Tag {name},', 'Ihr Konto hat Zugang zu {tenantName} erhalten. Melden Sie sich wie gewohnt an.'],
  },
  'account-locked': {
    subject: 'Die Anmeldung an Ihrem Konto ist unterbrochen',
    paragraphs: [
      'Guten Tag {name},',
      'es gab mehrere Anmeldeversuche mit falschem Passwort, deshalb ist die Anmeldung an Ihrem Konto eine Weile unterbrochen.',
      'Falls Sie das nicht waren, wählen Sie ein neues Passwort.',
    ],
    action: 'Neues Passwort wählen',
  },
  'password-changed': {
    subject: 'Ihr Passwort wurde geändert',
    paragraphs: [
      'Guten Tag {name},',
      'das Passwort Ihres Kontos wurde geändert, und alle Sitzungen wurden beendet.',
      'Falls Sie das nicht waren, informieren Sie sofort Ihren Administrator.',
    ],
  },
  'password-reset': {
    subject: 'Wählen Sie ein neues Passwort',
    paragraphs: [
      'Guten Tag {name},',
      'für Ihr Konto wurde ein neues Passwort angefordert. Der Link gilt eine Stunde, und nur der neueste gilt.',
      'Falls Sie das nicht waren, können Sie diese E-Mail ignorieren: Ihr Passwort bleibt, wie es ist.',
    ],
    action: 'Neues Passwort wählen',
  },
  'new-device': {
    subject: 'Neue Anmeldung an Ihrem Konto',
    paragraphs: [
      'Guten Tag {name},',
      'an Ihrem Konto hat sich ein Gerät angemeldet, das wir noch nicht kannten: {device}, Adresse {address}, um {time}.',
      'Falls Sie das nicht waren, ändern Sie sofort Ihr Passwort: Das beendet alle Sitzungen.',
    ],
  },
  'verify-address': {
    subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
    paragraphs: [
      'Guten Tag {name},',
      'bitte bestätigen Sie, dass dies Ihre E-Mail-Adresse ist. Der Link gilt eine Stunde.',
    ],
    action: 'Adresse bestätigen',
  },
  'email-change-confirm': {
    subject: 'Bestätigen Sie Ihre neue E-Mail-Adresse',
    paragraphs: [
      'Guten Tag {name},',
      'bitte bestätigen Sie, dass Ihr Konto künftig diese Adresse verwenden soll. Der Link gilt eine Stunde.',
      'Falls Sie das nicht angefordert haben, können Sie diese E-Mail ignorieren.',
    ],
    action: 'Neue Adresse bestätigen',
  },
  'email-change-notice': {
    subject: 'Eine neue E-Mail-Adresse wurde angefordert',
    paragraphs: [
      'Guten Tag {name},',
      'für Ihr Konto wurde eine neue Adresse angefordert: {newEmail}. Bis zur Bestätigung ändert sich nichts.',
      'Falls Sie das nicht waren, ändern Sie sofort Ihr Passwort.',
    ],
  },
  'email-changed': {
    subject: 'Die E-Mail-Adresse Ihres Kontos wurde geändert',
    paragraphs: [
      'Guten Tag {name},',
      'Ihr Konto verwendet jetzt die Adresse {newEmail}, und alle Sitzungen wurden beendet.',
      'Falls Sie das nicht waren, informieren Sie sofort Ihren Administrator.',
    ],
  },
  'mfa-enabled': {
    subject: 'Die Anmeldung in zwei Schritten ist eingeschaltet',
    paragraphs: [
      'Guten Tag {name},',
      'Ihr Konto hat einen zweiten Faktor erhalten.',
      'Falls Sie das nicht waren, informieren Sie sofort Ihren Administrator.',
    ],
  },
  'mfa-disabled': {
    subject: 'Die Anmeldung in zwei Schritten ist ausgeschaltet',
    paragraphs: [
      'Guten Tag {name},',
      'der zweite Faktor Ihres Kontos wurde entfernt.',
      'Falls Sie das nicht waren, informieren Sie sofort Ihren Administrator.',
    ],
  },
  'mfa-reset': {
    subject: 'Ihr zweiter Faktor wurde zurückgesetzt',
    paragraphs: [
      'Guten Tag {name},',
      'ein Administrator hat den zweiten Faktor Ihres Kontos entfernt und Sie überall abgemeldet.',
      'Richten Sie bei der nächsten Anmeldung einen neuen ein.',
    ],
  },
  'mfa-grace-opened': {
    subject: 'Bitte richten Sie die Anmeldung in zwei Schritten ein',
    paragraphs: [
      'Guten Tag {name},',
      'Ihre Rolle verlangt einen zweiten Faktor. Bitte richten Sie ihn bis {deadline} ein; danach können Sie ohne ihn nicht weiterarbeiten.',
    ],
  },
  'mfa-grace-ending': {
    subject: 'Anmeldung in zwei Schritten: nur noch wenige Tage',
    paragraphs: [
      'Guten Tag {name},',
      'bitte richten Sie bis {deadline} einen zweiten Faktor ein; danach können Sie ohne ihn nicht weiterarbeiten.',
    ],
  },
  'api-key-expiring': {
    subject: 'Der API-Schlüssel „{keyName}“ läuft bald ab',
    paragraphs: [
      'Guten Tag {name},',
      'der API-Schlüssel „{keyName}“ ({keyPrefix}...), den Sie angelegt haben, läuft am {expiresAt} ab. Was ihn verwendet, funktioniert dann nicht mehr.',
      'Legen Sie vorher einen neuen Schlüssel an.',
    ],
  },
  'webhook-failed': {
    subject: 'Der Webhook „{webhookName}“ wurde abgeschaltet',
    paragraphs: [
      'Guten Tag {name},',
      'der Webhook „{webhookName}“ von {organizationName} bekommt keine Ereignisse mehr: Der Empfänger hat seit {failingSince} keines angenommen.',
      'Sobald der Empfänger wieder arbeitet, setzen Sie den Webhook auf aktiv und holen nach, was er versäumt hat.',
    ],
  },
} satisfies Record<string, Template>;
