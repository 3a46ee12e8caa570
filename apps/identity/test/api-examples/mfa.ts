import { expectStatus, PASSWORD, totpCode, type IdentityReplica } from '../identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf } from '../users.js';

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
