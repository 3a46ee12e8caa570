import { expectStatus, type IdentityReplica } from '../identity-test-app.js';
import { registerPartner } from '../users.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callPasswordsExamples(identity: IdentityReplica): Promise<void> {
  const { email } = await registerPartner(identity);
  expectStatus(await identity.post('/auth/forgot-password', { email }), 200);
  const token = await identity.mailedToken(email, 2);
  expectStatus(await identity.post('/auth/reset-password', { token, password: 'violet umbrella tango' }), 200);
}
