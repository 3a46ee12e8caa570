import { GERMAN } from './templates.de.js';
import { isTemplate, renderMail } from './templates.js';

const url = 'https://app.example.com/accept-invite?token=abc_DEF-1';

describe('mail templates', () => {
  it('say the same in text and HTML', () => {
    const mail = renderMail('invite', { name: 'Robin', tenantName: 'Acme', url });
    expect(mail.subject).toBe('You have been invited to Acme');
    expect(mail.text).toContain('Hello Robin,');
    expect(mail.text).toContain(`Accept invitation: ${url}`);
    expect(mail.html).toContain(`<a href="${url}">Accept invitation</a>`);
  });

  it('let no value bring in tags, headers or further placeholders', () => {
    const name = '<b>x</b>\r\nBcc: all@example.com {url}';
    const mail = renderMail('invite', { name, tenantName: 'A\nSubject: B', url });
    expect(mail.subject).toBe('You have been invited to A Subject: B');
    expect(mail.html).toContain('&lt;b&gt;x&lt;/b&gt; Bcc: all@example.com {url}');
    expect(mail.html).not.toContain('<b>');
    expect(mail.text).not.toMatch(/^Bcc/m);
  });

  it('fall back to English', () => {
    expect(renderMail('password-changed', { name: 'R' }, 'xx').subject).toBe('Your password was changed');
  });

  it('speak German to who prefers it, from whichever country', () => {
    for (const locale of ['de', 'de-AT', 'DE-ch']) {
      expect(renderMail('password-changed', { name: 'R' }, locale).subject).toBe('Ihr Passwort wurde geändert');
    }
  });

  it.each(Object.keys(GERMAN) as (keyof typeof GERMAN)[])('say in German what they say in English: %s', (name) => {
    const marks = new Proxy<Record<string, string>>({}, { get: (_, key) => `<${String(key)}>` });
    const said = (locale: string) => [...new Set(renderMail(name, marks, locale).text.match(/<\w+>/g))].sort();
    expect(said('de')).toEqual(said('en'));
  });

  it('know their names only', () => {
    expect(isTemplate('invite')).toBe(true);
    expect(isTemplate('toString')).toBe(false);
  });
});
