import { isMailTemplate, MAIL_TEMPLATES, renderMail, type MailTemplateName } from './mail-templates.js';

const url = 'https://app.example.com/accept-invite?token=abc_DEF-1';

describe('renderMail', () => {
  it('renders the same content as text and HTML', () => {
    const mail = renderMail('invite', { name: 'Robin', tenantName: 'Acme', url });
    expect(mail.subject).toBe('You have been invited to Acme');
    expect(mail.text).toContain('Hello Robin,');
    expect(mail.text).toContain(`Accept invitation: ${url}`);
    expect(mail.html).toContain(`<a href="${url}" `);
    expect(mail.html).toContain('>Accept invitation</a>');
    expect(mail.html).toContain('<html lang="en">');
  });

  it('does not let a value add tags, headers or further placeholders', () => {
    const name = '<b>x</b>\r\nBcc: all@example.com {url}';
    const mail = renderMail('invite', { name, tenantName: 'A\nSubject: B', url });
    expect(mail.subject).toBe('You have been invited to A Subject: B');
    expect(mail.html).toContain('&lt;b&gt;x&lt;/b&gt; Bcc: all@example. com {url}');
    expect(mail.html).not.toContain('<b>');
    expect(mail.text).not.toMatch(/^Bcc/m);
  });

  it('cuts names, and separates what mail clients would turn into a link', () => {
    const name = `Your account is blocked, see https://evil.example/x and www.evil.example ${'!'.repeat(200)}`;
    const { subject, text, html } = renderMail('invite', { name, tenantName: 'Acme Inc. \u202egpj.exe\u200b', url });
    expect(subject).toBe('You have been invited to Acme Inc. gpj. exe');
    for (const part of [text.replaceAll(url, ''), html.replaceAll(url, '')]) {
      expect(part).not.toMatch(/https?:|evil\.example|!{50}/);
      expect(part).toContain('…');
    }
  });

  it('leads to a page of the web application where a template has no link of its own', () => {
    const { text, html } = renderMail('new-device', { name: 'R' }, { appUrl: 'https://api.example.com/account' });
    expect(text).toContain('Review your sessions: https://api.example.com/account/security');
    expect(html).toContain('href="https://api.example.com/account/security"');
  });

  it.each(Object.entries(MAIL_TEMPLATES))('has a text and a button for every link: %s', (locale, templates) => {
    for (const name of Object.keys(templates) as MailTemplateName[]) {
      const { action, page } = templates[name] ?? {};
      const { subject, text, html } = renderMail(name, { name: 'Robin', url }, { locale, appUrl: 'https://app' });
      expect(subject).not.toBe('');
      expect(html).toContain(`<html lang="${locale}">`);
      const link = page ? `https://app/${page}` : url;
      expect(action === undefined).toBe(!text.includes(link));
      expect(action === undefined).toBe(!html.includes(`href="${link}"`));
    }
  });

  it('falls back to English for an unknown language', () => {
    expect(renderMail('password-changed', { name: 'R' }, { locale: 'xx' }).subject).toBe('Your password was changed');
  });

  it('uses the language of the locale, whatever its region', () => {
    for (const locale of ['de', 'de-AT', 'DE-ch']) {
      expect(renderMail('password-changed', { name: 'R' }, { locale }).subject).toBe('Ihr Passwort wurde geändert');
    }
  });

  it.each(Object.keys(MAIL_TEMPLATES.de ?? {}) as MailTemplateName[])(
    'uses the same values in every language: %s',
    (name) => {
      const marks = new Proxy<Record<string, string>>({}, { get: (_, key) => `<${String(key)}>` });
      const valuesIn = (locale: string) =>
        [...new Set(renderMail(name, marks, { locale }).text.match(/<\w+>/g))].sort();
      expect(valuesIn('de')).toEqual(valuesIn('en'));
    },
  );
});

describe('isMailTemplate', () => {
  it('knows the names of templates only', () => {
    expect(isMailTemplate('invite')).toBe(true);
    expect(isMailTemplate('toString')).toBe(false);
  });
});
