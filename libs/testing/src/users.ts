import { randomBytes } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { ApiClient, type ApiResponse } from './api-client.js';
import type { FleetHandle } from './fleet-handle.js';
import { MailboxClient } from './mailbox-client.js';
import { totpCode } from './totp.js';

export const PASSWORD = 'correct-horse-battery-7';
const suffix = () => randomBytes(5).toString('hex');

export interface SignedIn {
  client: ApiClient;
  email: string;
  password: string;
  userId: string;
  partnerId: string;
}

function expectStatus(response: ApiResponse, status: number, what: string): ApiResponse {
  if (response.status !== status) {
    throw new Error(`${what}: ${response.status} instead of ${status}: ${JSON.stringify(response.body)}`);
  }
  return response;
}

/** Signs in as the bootstrap administrator, without a second factor. */
export async function signInAdmin(fleet: FleetHandle): Promise<ApiClient> {
  const anonymous = new ApiClient(fleet.baseUrl);
  const login = expectStatus(await anonymous.post('/auth/login', fleet.admin), 200, 'admin login');
  return anonymous.as({ bearer: login.body.tokens.accessToken as string });
}

/** Registers a partner and verifies its administrator's email address. The session has no second factor yet. */
export async function registerPartner(fleet: FleetHandle, companyName = `Partner ${suffix()}`): Promise<SignedIn> {
  const anonymous = new ApiClient(fleet.baseUrl);
  const email = `admin-${suffix()}@partner.test`;
  const form = { companyName, email, password: PASSWORD, name: 'Pat Admin', acceptTerms: true };
  expectStatus(await anonymous.post('/auth/register-partner', form), 200, 'register-partner');
  const token = await new MailboxClient(fleet.mailboxUrl).token(email);
  const verified = expectStatus(await anonymous.post('/auth/verify-email', { token }), 200, 'verify-email').body;
  return {
    client: anonymous.as({ bearer: verified.tokens.accessToken as string, cookies: {} }),
    email,
    password: PASSWORD,
    userId: verified.user.id as string,
    partnerId: verified.partner.id as string,
  };
}

/** Sets up TOTP through the API; the returned session has satisfied MFA. */
export async function enrollTotp(
  client: ApiClient,
): Promise<{ client: ApiClient; bearer: string; secret: string; recoveryCodes: string[] }> {
  const setup = expectStatus(await client.post('/auth/mfa/setup'), 200, 'mfa setup').body;
  const secret = setup.secret as string;
  const enabled = expectStatus(
    await client.post('/auth/mfa/enable', { code: totpCode(secret) }),
    200,
    'mfa enable',
  ).body;
  const bearer = enabled.tokens.accessToken as string;
  return {
    client: client.as({ bearer }),
    bearer,
    secret,
    recoveryCodes: enabled.recoveryCodes as string[],
  };
}

/** Registers a partner whose administrator has satisfied MFA. */
export async function partnerWithMfa(fleet: FleetHandle): Promise<SignedIn & { secret: string }> {
  const partner = await registerPartner(fleet);
  const { client, secret } = await enrollTotp(partner.client);
  return { ...partner, client, secret };
}

/** Invites a user as the caller, accepts the invitation through the mailbox, and signs in. */
export async function inviteAndAccept(
  fleet: FleetHandle,
  inviter: ApiClient,
  invite: Record<string, unknown>,
): Promise<SignedIn> {
  const email = `user-${suffix()}@users.test`;
  expectStatus(await inviter.post('/users/invite', { email, name: 'Robin User', ...invite }), 201, 'invite');
  const token = await new MailboxClient(fleet.mailboxUrl).token(email);
  const anonymous = new ApiClient(fleet.baseUrl);
  const body = expectStatus(
    await anonymous.post('/auth/accept-invite', { token, password: PASSWORD }),
    200,
    'accept',
  ).body;
  return {
    client: anonymous.as({ bearer: body.tokens.accessToken as string }),
    email,
    password: PASSWORD,
    userId: body.user.id as string,
    partnerId: '',
  };
}

/** Creates an organization of the caller's partner with one site. */
export async function createOrganization(client: ApiClient): Promise<{ orgId: string; siteId: string }> {
  const organization = expectStatus(
    await client.post('/orgs/organizations', { name: `Org ${suffix()}` }),
    201,
    'org',
  ).body;
  const orgId = organization.id as string;
  const site = expectStatus(await client.post('/orgs/sites', { orgId, name: 'Head Office' }), 201, 'site').body;
  return { orgId, siteId: site.id as string };
}

/** Builds the request body of an agent that enrolls. */
export const buildEnrollment = (enrollmentKey: string, hostname = `host-${suffix()}`) => ({
  enrollmentKey,
  hostname,
  osType: 'linux',
  osVersion: 'Debian 12',
  architecture: 'amd64',
  agentVersion: '1.0.0',
});

/** Repeats a call until its response has the status, for effects that arrive by event. */
export const untilStatus = (call: () => Promise<ApiResponse>, status: number): Promise<ApiResponse> =>
  eventually(async () => expectStatus(await call(), status, 'still'));
