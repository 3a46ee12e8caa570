import { expectStatus, PASSWORD, totpCode, type IdentityReplica } from '../identity-test-app.js';
import { registerPasskey, signIn, signInOptions } from '../passkeys.js';
import { enableSms, freshNumber, sentCode } from '../sms.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf } from '../users.js';

/** Calls the operations of passkeys and of SMS. */
export async function callPasskeyExamples(identity: IdentityReplica): Promise<void> {
  const partner = await registerPartner(identity);
  const { authenticator, id, bearer } = await registerPasskey(identity, partner);
  expectStatus(await identity.get('/auth/passkeys', { bearer }), 200);
  expectStatus(await identity.patch(`/auth/passkeys/${id}`, { name: 'Key in the safe' }, { bearer }), 200);
  const started = expectStatus(await identity.post('/auth/mfa/step-up/start', { method: 'passkey' }, { bearer }), 200);
  const proof = { method: 'passkey', operation: 'change_email', credential: authenticator.get(started.body.options) };
  expectStatus(await identity.post('/auth/mfa/step-up', proof, { bearer }), 200);

  const login = await identity.post('/auth/login', { email: partner.email, password: PASSWORD });
  const { tempToken } = login.body as { tempToken: string };
  const { body } = expectStatus(await identity.post('/auth/mfa/passkey/options', { tempToken }), 200);
  const credential = authenticator.get(body.options);
  expectStatus(await identity.post('/auth/mfa/passkey/verify', { tempToken, credential }), 200);
  const session = sessionOf(await signIn(identity, authenticator.get(await signInOptions(identity))));
  const password = { currentPassword: PASSWORD };
  expectStatus(await identity.call('delete', `/auth/passkeys/${id}`, password, { bearer: session.bearer }), 200);
}

export async function callSmsExamples(identity: IdentityReplica): Promise<void> {
  const partner = await registerPartner(identity);
  const { bearer, phoneNumber } = await enableSms(identity, partner);
  expectStatus(await identity.post('/auth/mfa/step-up/start', { method: 'sms' }, { bearer }), 200);
  const code = await sentCode(identity, phoneNumber, 2);
  const proof = { method: 'sms', operation: 'add_factor', code };
  const granted = expectStatus(await identity.post('/auth/mfa/step-up', proof, { bearer }), 200);
  const changed = { phoneNumber: freshNumber(), stepUpGrantId: granted.body.stepUpGrantId as string };
  expectStatus(await identity.post('/auth/phone/verify', changed, { bearer }), 200);
  const confirmation = { ...changed, code: await sentCode(identity, changed.phoneNumber) };
  expectStatus(await identity.post('/auth/phone/confirm', confirmation, { bearer }), 200);
  const login = await identity.post('/auth/login', { email: partner.email, password: PASSWORD });
  const { tempToken } = login.body as { tempToken: string };
  expectStatus(await identity.post('/auth/mfa/sms/send', { tempToken }), 200);
}

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callMfaExamples(identity: IdentityReplica): Promise<void> {
  const partner = await registerPartner(identity);
  const { secret, ...first } = await enrollTotp(identity, partner.bearer);
  const stepUp = { method: 'totp', operation: 'change_email', code: totpCode(secret) };
  expectStatus(await identity.post('/auth/mfa/step-up', stepUp, first), 200);
  const replaced = expectStatus(await identity.post('/auth/mfa/recovery-codes', {}, first), 200);
  const admin = sessionOf(replaced);

  const viewer = await roleId(identity, admin.bearer, 'Partner Viewer');
  const member = await inviteAndAccept(identity, admin.bearer, { roleId: viewer });
  await enrollTotp(identity, member.bearer);
  expectStatus(await identity.post(`/users/${member.userId}/mfa/reset`, undefined, admin), 200);

  const [code] = replaced.body.recoveryCodes as string[];
  const { service_refresh_token: refreshToken } = admin.cookies;
  const disable = { currentPassword: PASSWORD, code, refreshToken };
  expectStatus(await identity.post('/auth/mfa/disable', disable, { bearer: admin.bearer }), 200);
}
