import { SMTPServer } from 'smtp-server';
import { MetricsRegistry } from '@rmm/service-kit';
import { eventually, freePort } from '@rmm/testing-services';
import {
  ADMIN,
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { roleId } from '../../test/users.js';
import { SweepMailsJob } from './sweep-mails.job.js';

interface Received {
  from: string;
  to: string[];
  headers: Map<string, string>;
  source: string;
}

/** A mail server on loopback that keeps what it is given. */
class MailServer {
  readonly received: Received[] = [];
  private readonly server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const source = Buffer.concat(chunks).toString();
        const { mailFrom, rcptTo } = session.envelope;
        this.received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          headers: headersOf(source),
          source,
        });
        done();
      });
    },
  });

  constructor(readonly port: number) {}

  start(): Promise<void> {
    return new Promise((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(resolve));
  }

  mailTo(address: string, count = 1): Promise<Received> {
    return eventually(async () => {
      const mails = this.received.filter(({ to }) => to.includes(address));
      const newest = mails[count - 1];
      if (!newest) throw new Error(`${mails.length} mails to ${address}`);
      return newest;
    });
  }
}

const metricOf = async ({ app }: IdentityReplica, name: string, outcome?: string) => {
  const metric = await app.get(MetricsRegistry).registry.getSingleMetric(name)?.get();
  return metric?.values.find(({ labels }) => labels.outcome === outcome)?.value;
};

describe('SendMailProcessor', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let server: MailServer;
  let root: string;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    server = new MailServer(await freePort());
    await server.start();
    identity = await testApp.startReplica({
      SMTP_URL: `smtp://127.0.0.1:${server.port}`,
      MAIL_FROM: 'RMM <no-reply@rmm.test>',
    });
    root = expectStatus(await identity.post('/auth/login', ADMIN), 200).body.tokens.accessToken as string;
  }, 120_000);
  afterAll(async () => {
    await testApp.stop();
    await server.stop();
  });

  const register = async (over: Record<string, unknown> = {}) => {
    const email = freshEmail();
    const form = { companyName: 'Acme MSP', email, password: PASSWORD, name: 'Pat Morgan', acceptTerms: true, ...over };
    expectStatus(await identity.post('/auth/register-partner', form), 200);
    return email;
  };
  const rowsTo = (recipient: string) =>
    testApp.query<{ attempts: number; sent: boolean; error: string | null; sealed: string | null }>(
      `select attempts, sent_at is not null as sent, last_error as error, values_sealed as sealed
       from mail where recipient = $1`,
      [recipient],
    );

  it('sends text and HTML with a working link from the configured sender', async () => {
    const email = await register();
    const mail = await server.mailTo(email);
    expect(mail).toMatchObject({ from: 'no-reply@rmm.test', to: [email] });
    expect(mail.headers.get('from')).toBe('RMM <no-reply@rmm.test>');
    expect(mail.headers.get('to')).toBe(email);
    expect(mail.headers.get('subject')).toBe('Confirm your e-mail address');
    expect(mail.headers.get('content-type')).toMatch(/^multipart\/alternative/);
    const [text = '', html = ''] = partsOf(mail);
    expect(text).toContain('Hello Pat Morgan,');
    expect(html).toContain('>Hello Pat Morgan,</p>');
    const link = /https:\/\/\S+token=([A-Za-z0-9_-]{48})$/m.exec(text);
    expect(new URL(link?.[0] ?? '').host).toBe('app.test');
    expect(html).toContain(`href="${link?.[0]}"`);
    expectStatus(await identity.post('/auth/verify-email', { token: link?.[1] }), 200);
    await eventually(async () => {
      expect(await rowsTo(email)).toEqual([{ attempts: 1, sent: true, error: null, sealed: null }]);
    });
    expect(await metricOf(identity, 'rmm_mail_attempts_total', 'sent')).toBeGreaterThan(0);
  });

  it('sends nothing to a server that offers no TLS when TLS is required', async () => {
    const other = await IdentityTestApp.start();
    try {
      const strict = await other.startReplica({
        SMTP_URL: `smtp://127.0.0.1:${server.port}`,
        SMTP_REQUIRE_TLS: 'true',
      });
      const email = freshEmail();
      const form = { companyName: 'Acme MSP', email, password: PASSWORD, name: 'Pat Morgan', acceptTerms: true };
      expectStatus(await strict.post('/auth/register-partner', form), 200);
      await eventually(async () => {
        const [mail] = await other.query<{ sent: boolean; error: string | null }>(
          'SELECT sent_at IS NOT NULL AS sent, last_error AS error FROM mail WHERE recipient = $1',
          [email],
        );
        expect(mail).toEqual({ sent: false, error: expect.stringMatching(/TLS/i) });
      });
      await eventually(async () => expect(await metricOf(strict, 'rmm_mail_attempts_total', 'failed')).toBe(1));
      expect(await metricOf(strict, 'rmm_mail_waiting')).toBe(1);
      expect(await metricOf(strict, 'rmm_mail_oldest_due_seconds')).toBe(0);
      await other.query(`UPDATE mail SET next_attempt_at = now() - INTERVAL '90 seconds', attempts = 7`);
      expect(await metricOf(strict, 'rmm_mail_oldest_due_seconds')).toBeGreaterThanOrEqual(90);
      await strict.app.get(SweepMailsJob).run();
      await eventually(async () => expect(await metricOf(strict, 'rmm_mail_attempts_total', 'abandoned')).toBe(1));
      expect(await metricOf(strict, 'rmm_mail_waiting')).toBe(0);
      expect(server.received.filter(({ to }) => to.includes(email))).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  it('builds links on the public URL whatever host the client sends', async () => {
    const email = freshEmail();
    const form = { companyName: 'Acme MSP', email, password: PASSWORD, name: 'Pat Morgan', acceptTerms: true };
    const headers = { host: 'evil.test', 'x-forwarded-host': 'evil.test', forwarded: 'host=evil.test' };
    expectStatus(await identity.post('/auth/register-partner', form, { headers }), 200);
    const { source } = await server.mailTo(email);
    expect(source).not.toContain('evil.test');
  });

  it('does not let a name add a header, a recipient or a tag', async () => {
    const invited = freshEmail();
    const admin = { email: invited, name: 'Eve <script>' };
    const created = expectStatus(
      await identity.post('/orgs/partners', { name: 'Plain', admin }, { bearer: root }),
      201,
    );
    await server.mailTo(invited);
    // What a form refuses may still come from an import or an identity provider.
    const others = { name: 'Other', admin: { email: freshEmail(), name: 'Olive' } };
    const partnerId = expectStatus(await identity.post('/orgs/partners', others, { bearer: root }), 201).body
      .id as string;
    const evil = ['Evil\r\nBcc: all@users.test\r\n\r\nBody', 'Eve <script>\r\nX-Evil: 1'];
    await testApp.query('update partner set name = $2 where id = $1', [partnerId, evil[0]]);
    await testApp.query('update user_account set name = $2 where id = $1', [created.body.invite.userId, evil[1]]);
    const role = await roleId(identity, root, 'Partner Viewer', `&partnerId=${partnerId}`);
    const invite = { email: invited, name: 'Eve', roleId: role, partnerId };
    expectStatus(await identity.post('/users/invite', invite, { bearer: root }), 201);
    const mail = await server.mailTo(invited, 2);
    expect(mail.to).toEqual([invited]);
    expect([...mail.headers.keys()]).not.toEqual(expect.arrayContaining(['bcc']));
    expect(mail.headers.has('x-evil')).toBe(false);
    expect(mail.headers.get('subject')).toContain('Evil Bcc: all@users. test Body');
    const [, html = ''] = partsOf(mail);
    expect(html).not.toContain('<script>');
  });

  it('uses the language of the recipient, else of its partner', async () => {
    const email = await register();
    const [text = ''] = partsOf(await server.mailTo(email));
    const token = /token=([\w-]+)/.exec(text)?.[1];
    const { body } = expectStatus(await identity.post('/auth/verify-email', { token }), 200);
    const bearer = body.tokens.accessToken as string;
    const askFor = async (address: string) => {
      const response = await identity.patch('/users/me', { email: address, currentPassword: PASSWORD }, { bearer });
      expectStatus(response, 200);
    };
    expectStatus(await identity.patch('/orgs/partners/me', { settings: { locale: 'de-AT' } }, { bearer }), 200);
    const [first, second] = [freshEmail(), freshEmail()];
    await askFor(first);
    expect(subjectOf(await server.mailTo(first))).toBe('Bestätigen Sie Ihre neue E-Mail-Adresse');
    expect(subjectOf(await server.mailTo(email, 2))).toBe('Eine neue E-Mail-Adresse wurde angefordert');
    const colleague = freshEmail();
    const invite = { email: colleague, name: 'Kim', roleId: await roleId(identity, bearer, 'Partner Viewer') };
    expectStatus(await identity.post('/users/invite', invite, { bearer }), 201);
    expect(subjectOf(await server.mailTo(colleague))).toBe('Sie wurden zu Acme MSP eingeladen');

    expectStatus(await identity.patch('/users/me', { preferences: { locale: 'en-GB' } }, { bearer }), 200);
    await askFor(second);
    expect(subjectOf(await server.mailTo(second))).toBe('Confirm your new e-mail address');
    const change = { currentPassword: PASSWORD, newPassword: 'another-horse-battery-8' };
    expectStatus(await identity.post('/auth/change-password', change, { bearer }), 200);
    expect(subjectOf(await server.mailTo(email, 4))).toBe('Your password was changed');
  });

  it('retries mails after an outage of the server', async () => {
    await server.stop();
    const email = await register();
    await eventually(async () => {
      const [row] = await rowsTo(email);
      expect(row).toMatchObject({ attempts: 1, sent: false, error: expect.stringContaining('ECONNREFUSED') });
      expect(row?.sealed).not.toContain('token');
    });
    const again = new MailServer(server.port);
    await again.start();
    server = again;
    await identity.app.get(SweepMailsJob).run();
    expect(await rowsTo(email)).toMatchObject([{ attempts: 1, sent: false }]); // its next try is not due yet
    await testApp.query('update mail set next_attempt_at = now() where recipient = $1', [email]);
    await identity.app.get(SweepMailsJob).run();
    await server.mailTo(email);
    await eventually(async () =>
      expect(await rowsTo(email)).toMatchObject([{ attempts: 2, sent: true, sealed: null }]),
    );
  });
});

/** Header names in lower case; continued lines are joined. */
function headersOf(source: string): Map<string, string> {
  const [head = ''] = source.split('\r\n\r\n');
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
}

/** The texts of a mail of several parts. */
function partsOf({ source, headers }: Received): string[] {
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1] ?? '';
  return source
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const body = part.slice(part.indexOf('\r\n\r\n') + 4).replaceAll('\r\n', '\n');
      return /quoted-printable/i.test(part) ? unquoted(body) : body.trimEnd();
    });
}

function unquoted(text: string): string {
  const bytes = text.replace(/=\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex: string) => `%${hex}`);
  return decodeURIComponent(bytes).trimEnd();
}

function subjectOf({ headers }: Received): string {
  return (headers.get('subject') ?? '')
    .replace(/\?= =\?/g, '?==?')
    .replace(/=\?UTF-8\?Q\?([^?]*)\?=/gi, (_, text: string) => unquoted(text.replaceAll('_', ' ')))
    .replace(/=\?UTF-8\?B\?([^?]*)\?=/gi, (_, text: string) => Buffer.from(text, 'base64').toString());
}
