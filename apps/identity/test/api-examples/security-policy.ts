import { expectStatus, type IdentityReplica } from '../identity-test-app.js';
import { enrollTotp, registerPartner, signInAdmin } from '../users.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callSecurityPolicyExamples(identity: IdentityReplica): Promise<void> {
  const { bearer: first, partnerId } = await registerPartner(identity, 'Careful MSP');
  const { bearer } = await enrollTotp(identity, first);
  const security = { requireMfa: true, allowedMfaMethods: { sms: false }, sessionLifetimeHours: 12 };
  expectStatus(await identity.patch('/orgs/partners/me', { settings: { security } }, { bearer }), 200);
  const root = await signInAdmin(identity);
  const change = { plan: 'gold', maxOrganizations: 50 };
  expectStatus(await identity.patch(`/orgs/partners/${partnerId}`, change, { bearer: root }), 200);
}
