import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startMailbox } from '../dist/mailbox/mailbox.js';

describe('the mailbox', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'mailbox-check-'));
  let mailbox;

  const put = (message) =>
    fs.writeFileSync(path.join(dir, `${message.sentAt}-${message.id}.json`), JSON.stringify(message));
  const messages = async (query = '') => (await (await fetch(`${mailbox.url}/messages${query}`)).json()).data;

  before(async () => {
    const mail = {
      channel: 'email',
      to: 'Ada@example.test',
      subject: 'Hello <b>',
      text: 'token=abc',
      html: '<p>Hi</p>',
    };
    put({ ...mail, id: '1', sentAt: '2026-01-01T00:00:01.000Z' });
    put({ ...mail, id: '2', sentAt: '2026-01-01T00:00:02.000Z', to: 'bob@example.test' });
    put({ id: '3', channel: 'sms', to: '+41 79 000 00 00', text: '123456', sentAt: '2026-01-01T00:00:03.000Z' });
    fs.writeFileSync(path.join(dir, 'half.json.tmp'), '{');
    mailbox = await startMailbox(dir, 28_280);
  });
  after(async () => {
    await mailbox.close();
    fs.rmSync(dir, { recursive: true });
  });

  it('lists everything, newest first', async () => {
    assert.deepEqual(
      (await messages()).map(({ id }) => id),
      ['3', '2', '1'],
    );
  });

  it('finds an address in any case, and a number with or without blanks', async () => {
    assert.deepEqual(
      (await messages('?to=ada%40EXAMPLE.test')).map(({ id }) => id),
      ['1'],
    );
    assert.deepEqual(
      (await messages('?to=+41790000000')).map(({ id }) => id),
      ['3'],
    );
    assert.deepEqual(await messages('?to=unknown%40example.test'), []);
  });

  it('returns every field, null where a message has none', async () => {
    const [sms] = await messages('?to=%2B41790000000');
    assert.deepEqual(Object.keys(sms), ['id', 'channel', 'to', 'subject', 'text', 'html', 'sentAt']);
    assert.deepEqual([sms.subject, sms.html], [null, null]);
  });

  it('shows a page on which a subject is text', async () => {
    const page = await (await fetch(mailbox.url)).text();
    assert.ok(page.includes('Hello &lt;b&gt;'));
    assert.ok(!page.includes('<script'));
  });
});
