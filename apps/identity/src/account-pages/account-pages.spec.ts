import supertest from 'supertest';
import {
  expectStatus,
  freshEmail,
  IdentityTestApp,
  PASSWORD,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { enrollTotp, registerPartner, roleId } from '../../test/users.js';
import { PAGE_POLICY } from './account-pages.controller.js';
import { ACCOUNT_PAGES } from './account-pages.service.js';

describe('the routes of the account pages', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({ PUBLIC_APP_URL: undefined });
  }, 120_000);
  afterAll(() => testApp.stop());

  const get = (path: string, headers: Record<string, string> = {}) =>
    supertest(identity.app.getHttpServer() as never)
      .get(path)
      .set(headers);

  it.each(ACCOUNT_PAGES)('serve %s without credentials, cache or referrer, under a strict policy', async (page) => {
    const response = await get(`/account/${page}?token=abc`);
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'content-language': 'en',
    });
    expect(response.headers['set-cookie']).toBeUndefined();
  });

  it('respond with a page of status 404 for an unknown one', async () => {
    const response = await get('/account/layout', { 'accept-language': 'de' });
    expect(response).toMatchObject({ status: 404, headers: { 'content-language': 'de' } });
    expect(response.text).toContain('Seite nicht gefunden');
  });

  it('remember the chosen language in a cookie that scripts cannot read', async () => {
    const response = await get('/account/login?lang=de');
    const [cookie = ''] = response.headers['set-cookie'] as unknown as string[];
    expect(cookie).toMatch(/^service_language=de; .*HttpOnly; SameSite=Lax$/);
    expect((await get('/account/login', { cookie: 'service_language=de' })).text).toContain('lang="de"');
    expect((await get('/account/login?lang=xx')).headers['set-cookie']).toBeUndefined();
  });

  it('lead from the folder to the security page', async () => {
    const response = await get('/account');
    expect(response).toMatchObject({ status: 302, headers: { location: '/account/security' } });
  });

  describe('without JavaScript', () => {
    const post = (path: string, fields: Record<string, string>, type = 'form', site?: string) =>
      supertest(identity.app.getHttpServer() as never)
        .post(path)
        .type(type)
        .set(site === undefined ? {} : { 'sec-fetch-site': site })
        .send(fields);
    const visible = (html: string) => /<section class="card" data-step="([\w-]+)">/.exec(html)?.[1];
    const cookiesOf = ({ headers }: supertest.Response) =>
      ((headers['set-cookie'] ?? []) as unknown as string[]).map((cookie) => cookie.split('=')[0]);

    it('replace a forgotten password', async () => {
      const user = await registerPartner(identity);
      const sent = await post('/account/forgot-password', { email: user.email });
      expect(sent).toMatchObject({ status: 200, headers: { 'content-security-policy': PAGE_POLICY } });
      expect([visible(sent.text), sent.headers['set-cookie']]).toEqual(['sent', undefined]);
      const path = `/account/reset-password?token=${await identity.mailedToken(user.email, 2)}`;
      const weak = await post(path, { password: 'password' });
      expect([weak.status, visible(weak.text)]).toEqual([400, 'form']);
      expect(weak.text).toContain('too easy to guess');
      expect(weak.text).not.toContain('value="password"');
      const password = 'another-horse-battery-8';
      const done = await post(path, { password });
      expect([done.status, visible(done.text)]).toEqual([200, 'done']);
      expect((await identity.post('/auth/login', { email: user.email, password })).status).toBe(200);
      const again = await post(`${path}&lang=de`, { password });
      expect([again.status, visible(again.text), again.headers['content-language']]).toEqual([400, 'invalid', 'de']);
    });

    it('register a company, and sign in the browser that confirms its address on the page', async () => {
      const email = freshEmail();
      const form = { companyName: 'Plain <b>Forms</b>', name: 'Robin', email, password: PASSWORD };
      const refused = await post('/account/sign-up', form);
      expect([refused.status, visible(refused.text)]).toEqual([400, 'form']);
      expect(refused.text).toContain('value="Plain &lt;b&gt;Forms&lt;/b&gt;"');
      expect(refused.text).not.toContain(PASSWORD);
      const sent = await post('/account/sign-up', { ...form, acceptTerms: 'on' });
      expect([sent.status, visible(sent.text)]).toEqual([200, 'sent']);
      expect(sent.text).toContain(email);
      const path = `/account/verify-email?token=${await identity.mailedToken(email)}`;
      const done = await post(path, {}, 'form', 'same-origin');
      expect([done.status, visible(done.text)]).toEqual([200, 'registered']);
      expect(done.text).toContain('Plain &lt;b&gt;Forms&lt;/b&gt;');
      expect(cookiesOf(done)).toEqual(['service_refresh_token', 'service_csrf_token']);
      const again = await post(path, {}, 'form', 'same-origin');
      expect([visible(again.text), cookiesOf(again)]).toEqual(['invalid', []]);
    });

    it.each([
      ['same-origin', 2],
      ['cross-site', 0],
      [undefined, 0],
    ])(
      'accept an invitation with a new password; a form of site %s gets %s cookies',
      async (site, cookies) => {
        const partner = await registerPartner(identity);
        const { bearer } = await enrollTotp(identity, partner.bearer);
        const [email, role] = [freshEmail(), await roleId(identity, bearer, 'Partner Viewer')];
        const invitation = { email, name: 'Robin', roleId: role };
        expectStatus(await identity.post('/users/invite', invitation, { bearer }), 201);
        const path = `/account/accept-invite?token=${await identity.mailedToken(email)}`;
        const weak = await post(path, { password: 'password' });
        expect([weak.status, visible(weak.text)]).toEqual([400, 'loading']);
        const done = await post(path, { password: PASSWORD }, 'form', site);
        expect([done.status, visible(done.text), cookiesOf(done).length]).toEqual([200, 'done', cookies]);
        expect((await identity.post('/auth/login', { email, password: PASSWORD })).status).toBe(200);
      },
      60_000,
    );

    it('accept no other form, and no other body', async () => {
      const refused = await post('/account/login', { email: 'a@b.test', password: 'x' });
      expect(refused.status).toBe(404);
      expect((await post('/account/forgot-password', { email: 'a@b.test' }, 'json')).status).toBe(415);
      const large = await post('/account/forgot-password', { email: 'x'.repeat(20_000) });
      expect(large.status).toBe(413);
    });
  });

  it('let browsers keep what a page loads', async () => {
    const { text } = await get('/account/login');
    const files = [...text.matchAll(/(?:src|href)="(\/account\/assets\/[^"]+)"/g)].map(([, file]) => file ?? '');
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const response = await get(file);
      expect({ file, status: response.status }).toEqual({ file, status: 200 });
      expect(response.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
    expect((await get('/account/assets/0123456789abcdef/main.mjs')).status).toBe(404);
  });

  it('are where mailed links lead by default', async () => {
    const email = 'links@users.test';
    await identity.post('/auth/register-partner', {
      companyName: 'Links',
      email,
      name: 'Lin',
      password: 'correct-horse-battery-7',
      acceptTerms: true,
    });
    const token = await identity.mailedToken(email);
    const [mail] = await identity.mails(email);
    expect(mail?.text).toContain(`http://localhost:8080/account/verify-email?token=${token}`);
  });
});
