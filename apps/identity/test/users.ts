import type { AccessTokenClaims } from '@rmm/access';
import type { ActingUser } from '@rmm/contracts';
import {
  ADMIN,
  cookiesOf,
  expectStatus,
  freshEmail,
  PASSWORD,
  totpCode,
  type TestResponse,
  type IdentityReplica,
} from './identity-test-app.js';

export interface TestUser {
  email: string;
  userId: string;
  partnerId: string;
  bearer: string;
  cookies: Record<string, string>;
}

export async function signInAdmin(identity: IdentityReplica): Promise<string> {
  const response = expectStatus(await identity.post('/auth/login', ADMIN), 200);
  return response.body.tokens.accessToken as string;
}

/** Registers a partner with its administrator. */
export async function registerPartner(identity: IdentityReplica, companyName = 'Acme MSP'): Promise<TestUser> {
  const email = freshEmail('admin');
  const form = { companyName, email, password: PASSWORD, name: 'Pat Morgan', acceptTerms: true };
  expectStatus(await identity.post('/auth/register-partner', form), 200);
  const token = await identity.mailedToken(email);
  const response = expectStatus(await identity.post('/auth/verify-email', { token }), 200);
  return { ...sessionOf(response), email, userId: response.body.user.id, partnerId: response.body.partner.id };
}

/** Reads the claims of an access token without verifying it. */
export const claimsOf = (bearer: string): AccessTokenClaims =>
  JSON.parse(Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString()) as AccessTokenClaims;

/** Returns a user of a partner in the form in which other services send it. */
export const actingUserOf = ({ userId, partnerId, bearer }: TestUser): ActingUser => ({
  kind: 'user',
  userId,
  sessionId: claimsOf(bearer).sid,
  tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [] },
});

export const sessionOf = (response: TestResponse): { bearer: string; cookies: Record<string, string> } => ({
  bearer: response.body.tokens.accessToken as string,
  cookies: cookiesOf(response),
});

/** Enrolls TOTP with the code of the last half minute; the returned session has satisfied MFA. */
export async function enrollTotp(identity: IdentityReplica, bearer: string) {
  const setup = expectStatus(await identity.post('/auth/mfa/setup', undefined, { bearer }), 200).body;
  const confirm = () => identity.post('/auth/mfa/enable', { code: totpCode(setup.secret as string, -1) }, { bearer });
  const first = await confirm();
  // When a half minute ends between the generation of the code and its check, the code is too old.
  const enabled = expectStatus(first.status === 400 ? await confirm() : first, 200);
  return { secret: setup.secret as string, recoveryCodes: setup.recoveryCodes as string[], ...sessionOf(enabled) };
}

/** Registers a partner whose administrator has an authenticator app and a session that satisfied MFA. */
export async function registerProtectedPartner(identity: IdentityReplica) {
  const partner = await registerPartner(identity);
  return { ...partner, ...(await enrollTotp(identity, partner.bearer)) };
}

export async function roleId(identity: IdentityReplica, bearer: string, name: string, query = ''): Promise<string> {
  const response = expectStatus(await identity.get(`/users/roles?limit=100${query}`, { bearer }), 200);
  const role = (response.body.data as { id: string; name: string }[]).find((candidate) => candidate.name === name);
  if (!role) throw new Error(`no role ${name}`);
  return role.id;
}

/** Invites a new user with a role and accepts the invitation. */
export async function inviteAndAccept(
  identity: IdentityReplica,
  bearer: string,
  invite: Record<string, unknown>,
): Promise<TestUser> {
  const email = freshEmail();
  expectStatus(await identity.post('/users/invite', { email, name: 'Robin Vale', ...invite }, { bearer }), 201);
  const token = await identity.mailedToken(email);
  const response = expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
  return { ...sessionOf(response), email, userId: response.body.user.id, partnerId: '' };
}
