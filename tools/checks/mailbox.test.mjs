import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startMailbox } from '../dist/mailbox/mailbox.js';
import { identify } from '../dist/processes/process-record.js';
import { FleetFixture } from './support/fleet-fixture.mjs';

describe('the mailbox', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'mailbox-check-'));
  const fixture = new FleetFixture({ port: 28_290 });
  let mailbox;

  const put = (message) =>
    fs.writeFileSync(path.join(dir, `${message.sentAt}-${message.id}.json`), JSON.stringify(message));
  const messages = async (query = '') => (await (await fetch(`${mailbox.url}/messages${query}`)).json()).data;

  /** Runs `./fleet mailbox` for a fleet whose launcher is this process. */
  const command = (mailboxUrl, ...args) => {
    const dev = path.join(fixture.dir, 'data/dev');
    const state = { phase: 'ready', launcher: identify(process.pid), summary: { mailboxUrl } };
    const rest = { records: [], ports: {}, externalStores: [], services: [] };
    fs.writeFileSync(path.join(dev, 'state.json'), JSON.stringify({ ...state, ...rest }));
    return fixture.fleet('mailbox', ...args);
  };

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
    fs.rmSync(fixture.dir, { recursive: true });
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

  it('leaves out damaged files', async () => {
    const damaged = { 'a.json': '{"tr', 'b.json': 'null', 'c.json': '{"id":"4"}' };
    for (const [name, text] of Object.entries(damaged)) fs.writeFileSync(path.join(dir, name), text);
    assert.equal((await messages()).length, 3);
    assert.equal((await fetch(mailbox.url)).status, 200);
    for (const name of Object.keys(damaged)) fs.rmSync(path.join(dir, name));
  });

  it('is shown by ./fleet mailbox, which names an address without mails', async () => {
    assert.match((await command(mailbox.url, 'bob@example.test')).stdout, /bob@example\.test {2}Hello <b>/);
    assert.match((await command(mailbox.url, 'x@example.test')).stdout, /^No mail to x@example\.test\.$/m);
  });

  it('is reported by ./fleet mailbox with one line when it does not respond 200', async () => {
    const { status, stderr } = await command(`${mailbox.url}/nope`);
    assert.equal(status, 1);
    assert.match(stderr, /^fleet: The mailbox at \S+ cannot be read: Not Found\n$/);
    assert.match(
      (await command('http://127.0.0.1:1')).stderr,
      /^fleet: The mailbox at \S+ cannot be read: it does not respond\n$/,
    );
  });

  it('shows a page on which a subject is text', async () => {
    const page = await (await fetch(mailbox.url)).text();
    assert.ok(page.includes('Hello &lt;b&gt;'));
    assert.ok(!page.includes('<script'));
  });
});
