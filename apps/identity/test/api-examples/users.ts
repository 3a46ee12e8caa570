import { expectStatus, freshEmail, type IdentityReplica } from '../identity-test-app.js';
import { inviteAndAccept, registerPartner, roleId, signInAdmin } from '../users.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callUsersExamples(identity: IdentityReplica): Promise<void> {
  const { bearer } = await registerPartner(identity);
  const viewer = await roleId(identity, bearer, 'Partner Viewer');
  const invited = { email: freshEmail(), name: 'Robin Vale', roleId: viewer, orgAccess: 'all' };
  const { id } = expectStatus(await identity.post('/users/invite', invited, { bearer }), 201).body;
  expectStatus(await identity.post('/users/resend-invite', { userId: id }, { bearer }), 200);
  const member = await inviteAndAccept(identity, bearer, { roleId: viewer });
  const root = await signInAdmin(identity);
  const disabled = { status: 'disabled', disabledReason: 'Left the company' };
  expectStatus(await identity.patch(`/users/${member.userId}`, disabled, { bearer: root }), 200);
  expectStatus(await identity.delete(`/users/${member.userId}`, { bearer }), 200);
}
