/** The second step of a sign-in: a code, a text message or a passkey. */
import { call } from './api.mjs';
import { announce, exists, fill, find, onClick, onSubmit, show, showStep, t } from './page.mjs';
import { assertPasskey, passkeysAreSupported } from './passkeys.mjs';

/**
 * Resolves with the login body: at once when no factor is needed, else after it was verified.
 * @param {import('./api.mjs').Body} login
 * @returns {Promise<import('./api.mjs').Body>}
 */
export async function completeLogin(login) {
  if (!login.mfaRequired) return login;
  return new Promise((resolve) => askForFactor(login, resolve));
}

/**
 * @param {import('./api.mjs').Body} login
 * @param {(body: import('./api.mjs').Body) => void} resolve
 */
function askForFactor({ tempToken, mfaMethod, passkeyAvailable, phoneLast4 }, resolve) {
  const usesPasskey = (mfaMethod === 'passkey' || passkeyAvailable) && passkeysAreSupported();
  show('[data-factor="totp"]', mfaMethod === 'totp');
  show('[data-factor="sms"]', mfaMethod === 'sms');
  show('[data-factor="passkey"]', usesPasskey);
  fill({ phoneLast4 });
  showStep('factor');
  const verify =
    (/** @type {string} */ method) =>
    async (/** @type {Record<string, string>} */ { code }) =>
      resolve(await call('POST', '/auth/mfa/verify', { tempToken, code: code?.trim(), method }));
  onSubmit('totp', verify('totp'));
  onSubmit('sms', verify('sms'));
  onSubmit('recovery', verify('recovery'));
  onClick('#send-sms', async () => {
    await call('POST', '/auth/mfa/sms/send', { tempToken });
    announce(t('factor.smsSent'));
  });
  onClick('#use-passkey', async () => {
    const { options } = await call('POST', '/auth/mfa/passkey/options', { tempToken });
    const credential = await assertPasskey(options);
    resolve(await call('POST', '/auth/mfa/passkey/verify', { tempToken, credential }));
  });
  if (mfaMethod === 'totp' && exists('#totp-code')) find('#totp-code').focus();
}
