import { totpCode } from '../commands/totp.mjs';
import { Failure } from '../failure.mjs';
import { readMessages } from '../mailbox/messages.mjs';
import { MAILBOX_DIR } from '../fleet/layout.mjs';
import { poll } from '../processes/wait.mjs';

const STEP_MS = 30_000;

/** `Nora Winter` of `northwind.example` is `nora.winter@northwind.example`. */
export const addressOf = (name, domain) => `${name.toLowerCase().replaceAll(' ', '.')}@${domain}`;

/** Accepts an invite with the link that came by mail. @returns the token of the new session */
export async function acceptInvite(client, email, password) {
  const token = await tokenFromMail(email);
  return (await client.as(null).post('/auth/accept-invite', { token, password })).tokens.accessToken;
}

async function tokenFromMail(email) {
  const find = async () => {
    for (const { text } of await readMessages(MAILBOX_DIR, email)) {
      const token = /token=([A-Za-z0-9_-]+)/.exec(text)?.[1];
      if (token) return token;
    }
    return null;
  };
  const token = await poll(find, { timeoutMs: 15_000, everyMs: 100 });
  if (!token) throw new Failure(`No mail with a link reached ${email}.`);
  return token;
}

/** Sets up an authenticator and signs in with it. @returns {Promise<{ token: string, secret: string }>} */
export async function signInWithFactor(client, { email, password }) {
  const { secret } = await client.post('/auth/mfa/setup');
  const now = Math.floor(Date.now() / STEP_MS);
  await client.post('/auth/mfa/enable', { code: totpCode(secret, now) });
  const { tempToken } = await client.as(null).post('/auth/login', { email, password });
  // A code works once; the next one is inside the allowed drift.
  const { tokens } = await client.as(null).post('/auth/mfa/verify', { tempToken, code: totpCode(secret, now + 1) });
  return { token: tokens.accessToken, secret };
}
