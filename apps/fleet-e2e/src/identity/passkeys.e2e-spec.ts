import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  ApiClient,
  connectToFleet,
  eventually,
  MailboxClient,
  PASSWORD,
  registerPartner,
  SoftwareAuthenticator,
  type ApiResponse,
} from '@rmm/testing';
import { must } from '../steps.js';

const GUIDE = resolve(import.meta.dirname, '../../../../docs/guides/passkeys.md');

/** The JSON bodies of the guide by their operation. */
const BODIES = new Map(
  [...readFileSync(GUIDE, 'utf8').matchAll(/```json (\w+ \S+)\n([\s\S]*?)```/g)].map(([, name, text]) => [
    name,
    JSON.parse(text ?? '') as unknown,
  ]),
);

/** Returns the names of all fields, with `[]` for the items of arrays. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== 'object' || value === null) return '';
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shapeOf(item)]));
}

describe('passkeys', () => {
  const fleet = connectToFleet();
  const anonymous = () => new ApiClient(fleet.baseUrl);
  const origin = `http://localhost:${new URL(fleet.baseUrl).port}`;

  /** Compares a response with the body that the guide shows. */
  function expectAsInGuide(name: string, response: ApiResponse): ApiResponse['body'] {
    const body = must(response, 200);
    expect(shapeOf(body)).toEqual(shapeOf(BODIES.get(name)));
    return body;
  }

  it('are registered, sign in alone, step up, and are deleted, with the bodies of the guide', async () => {
    const partner = await registerPartner(fleet);
    const authenticator = new SoftwareAuthenticator(origin, { backupEligible: true, backedUp: true });
    const started = expectAsInGuide(
      'POST /auth/passkeys/register/options',
      await partner.client.post('/auth/passkeys/register/options', { currentPassword: PASSWORD }),
    );
    expect(started.options.rp.id).toBe('localhost');
    const credential = authenticator.create(started.options);
    const registered = expectAsInGuide(
      'POST /auth/passkeys/register/verify',
      await partner.client.post('/auth/passkeys/register/verify', { credential }),
    );
    expect((await partner.client.get('/users/me')).status).toBe(401);

    const client = anonymous();
    const { options } = expectAsInGuide(
      'POST /auth/passkeys/login/options',
      await client.post('/auth/passkeys/login/options', {}),
    );
    const assertion = authenticator.get(options);
    const login = expectAsInGuide(
      'POST /auth/passkeys/login/verify',
      await client.post('/auth/passkeys/login/verify', { credential: assertion }),
    );
    const replayed = await client.post('/auth/passkeys/login/verify', { credential: assertion });
    expect([replayed.status, replayed.body.code]).toEqual([401, 'login_failed']);

    const session = client.as({ bearer: login.tokens.accessToken as string });
    // A partner administrator reads its own tenant, through other services as well.
    must(await session.get('/orgs/organizations'), 200);
    const stepUp = must(await session.post('/auth/mfa/step-up/start', { method: 'passkey' }), 200);
    const proof = { method: 'passkey', operation: 'change_email', credential: authenticator.get(stepUp.options) };
    must(await session.post('/auth/mfa/step-up', proof), 200);

    const id = registered.passkey.id as string;
    must(await session.patch(`/auth/passkeys/${id}`, { name: 'Phone' }), 200);
    expect(must(await session.get('/auth/passkeys'), 200).data).toMatchObject([{ id, name: 'Phone' }]);
    must(await session.send('DELETE', `/auth/passkeys/${id}`, { currentPassword: PASSWORD }), 200);
    const gone = await client.post('/auth/passkeys/login/verify', {
      credential: authenticator.get((await client.post('/auth/passkeys/login/options', {})).body.options),
    });
    expect(gone.status).toBe(401);
  });

  it('complete a login after the password', async () => {
    const partner = await registerPartner(fleet);
    const authenticator = new SoftwareAuthenticator(origin);
    const { options } = must(
      await partner.client.post('/auth/passkeys/register/options', { currentPassword: PASSWORD }),
      200,
    );
    must(
      await partner.client.post('/auth/passkeys/register/verify', { credential: authenticator.create(options) }),
      200,
    );
    const client = anonymous();
    const login = must(await client.post('/auth/login', { email: partner.email, password: PASSWORD }), 200);
    expect(login).toMatchObject({ mfaRequired: true, mfaMethod: 'passkey', passkeyAvailable: true });
    const { tempToken } = login as { tempToken: string };
    const challenge = must(await client.post('/auth/mfa/passkey/options', { tempToken }), 200);
    const wrong = authenticator.get(challenge.options, { origin: 'http://localhost:1' });
    const refused = await client.post('/auth/mfa/passkey/verify', { tempToken, credential: wrong });
    expect([refused.status, refused.body.code]).toEqual([400, 'mfa_code_invalid']);
    const again = must(await client.post('/auth/mfa/passkey/options', { tempToken }), 200);
    const credential = authenticator.get(again.options);
    must(await client.post('/auth/mfa/passkey/verify', { tempToken, credential }), 200);
  });

  it('are announced to their user by mail', async () => {
    const partner = await registerPartner(fleet);
    const authenticator = new SoftwareAuthenticator(origin);
    const body = { currentPassword: PASSWORD, name: 'Office key' };
    const { options } = must(await partner.client.post('/auth/passkeys/register/options', body), 200);
    must(
      await partner.client.post('/auth/passkeys/register/verify', { credential: authenticator.create(options) }),
      200,
    );
    await eventually(async () => {
      const mails = await new MailboxClient(fleet.mailboxUrl).messages(partner.email);
      expect(mails.find(({ subject }) => subject === 'A passkey was added')?.text).toContain('Office key');
    });
  });
});
