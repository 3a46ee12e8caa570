import { expectStatus, PASSWORD, type IdentityReplica } from '../identity-test-app.js';
import { registerPartner } from '../users.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callSessionsExamples(identity: IdentityReplica): Promise<void> {
  const { email, bearer } = await registerPartner(identity);
  expectStatus(await identity.post('/auth/login', { email, password: PASSWORD }), 200);
  const list = expectStatus(await identity.get('/auth/sessions', { bearer }), 200);
  const other = (list.body.data as { id: string; current: boolean }[]).find(({ current }) => !current);
  expectStatus(await identity.delete(`/auth/sessions/${other?.id}`, { bearer }), 200);
  expectStatus(await identity.delete('/auth/sessions', { bearer }), 200);
}
