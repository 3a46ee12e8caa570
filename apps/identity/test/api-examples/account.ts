import { expectStatus, freshEmail, PASSWORD, type IdentityReplica } from '../identity-test-app.js';
import { attachFile, createPng } from '../images.js';
import { registerPartner, signInAdmin } from '../users.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callAccountExamples(identity: IdentityReplica): Promise<void> {
  const { bearer, userId } = await registerPartner(identity);
  const preferences = { theme: 'dark', locale: 'en-GB' };
  expectStatus(await identity.patch('/users/me', { name: 'Pat Rowan', preferences }, { bearer }), 200);

  const send = attachFile(createPng(64, 64));
  expectStatus(await identity.call('post', '/users/me/avatar', undefined, { bearer, send }), 200);
  const picture = expectStatus(await identity.get(`/users/${userId}/avatar`, { bearer }), 200);
  const headers = { 'if-none-match': picture.headers.etag ?? '' };
  expectStatus(await identity.get(`/users/${userId}/avatar`, { bearer, headers }), 304);
  expectStatus(await identity.delete('/users/me/avatar', { bearer }), 200);

  const email = freshEmail();
  expectStatus(await identity.patch('/users/me', { email, currentPassword: PASSWORD }, { bearer }), 200);
  const token = await identity.mailedToken(email);
  expectStatus(await identity.post('/auth/verify-email', { token }), 200);

  const root = await signInAdmin(identity);
  expectStatus(await identity.post('/auth/resend-verification', undefined, { bearer: root }), 200);
}
