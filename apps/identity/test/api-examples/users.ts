import { expectStatus, freshEmail, PASSWORD, type IdentityReplica } from '../identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, sessionOf, signInAdmin } from '../users.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callUsersExamples(identity: IdentityReplica): Promise<void> {
  const { bearer } = await registerPartner(identity);
  const viewer = await roleId(identity, bearer, 'Partner Viewer');
  const invited = { email: freshEmail(), name: 'Robin Vale', roleId: viewer, orgAccess: 'all' };
  const { id } = expectStatus(await identity.post('/users/invite', invited, { bearer }), 201).body;
  expectStatus(await identity.post('/users/resend-invite', { userId: id }, { bearer }), 200);
  expectStatus(await identity.get('/users/invitations', { bearer }), 200);
  expectStatus(await identity.delete(`/users/invitations/${id}`, { bearer }), 200);
  await callMembershipExamples(identity, bearer, viewer);
  const member = await inviteAndAccept(identity, bearer, { roleId: viewer });
  expectStatus(await identity.patch(`/users/${member.userId}/membership`, { orgAccess: 'none' }, { bearer }), 200);
  const root = await signInAdmin(identity);
  const disabled = { status: 'disabled', disabledReason: 'Left the company' };
  expectStatus(await identity.patch(`/users/${member.userId}`, disabled, { bearer: root }), 200);
  expectStatus(await identity.delete(`/users/${member.userId}`, { bearer }), 200);
}

/** An existing user who is invited, accepts with password and factor, and leaves. */
async function callMembershipExamples(identity: IdentityReplica, host: string, viewer: string): Promise<void> {
  const { email, bearer } = await registerPartner(identity, 'Own MSP');
  const enrolled = await enrollTotp(identity, bearer);
  const invitation = { email, name: 'Pat Morgan', roleId: viewer };
  expectStatus(await identity.post('/users/invite', invitation, { bearer: host }), 201);
  const token = await identity.mailedToken(email, 2);
  const [pending] = expectStatus(await identity.get('/auth/me', enrolled), 200).body.pendingMemberships;
  expectStatus(await identity.post('/auth/accept-invite', { token, password: PASSWORD }), 200);
  const accepted = expectStatus(await identity.post('/auth/accept-invite', { token }, enrolled), 200);
  expectStatus(await identity.post('/auth/leave', { partnerId: pending.partnerId }, sessionOf(accepted)), 200);
}
