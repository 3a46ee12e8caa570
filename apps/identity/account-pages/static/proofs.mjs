/** Proofs before sensitive changes: the current password, single sign-on again, or a factor again. */
import { ApiError, call } from './api.mjs';
import { announce, find, onClick, onSubmit, show, t } from './page.mjs';
import { assertPasskey } from './passkeys.mjs';

/** @type {string | undefined} */
let reauthGrantId;
/** Methods that the account can prove, the primary one first. @type {string[]} */
let methods = [];

/** @param {string[]} available */
export function setStepUpMethods(available) {
  methods = available;
}

/** Accounts without a password sign in at their provider again, which leads back here with a grant in the fragment. */
export function startReauthentication() {
  const grant = new URLSearchParams(location.hash.slice(1)).get('ssoReauthGrant');
  if (grant !== null) {
    reauthGrantId = grant;
    history.replaceState(null, '', location.pathname);
    announce(t('sso.reauthenticated'));
  }
  onClick('#sso-reauth', async () => {
    const { redirectUrl } = await call('POST', '/sso/reauth', { returnTo: '/security' });
    location.assign(redirectUrl);
  });
}

/**
 * Returns the proof of who uses the account, for a request body.
 * @param {string} [currentPassword]
 */
export const currentProof = (currentPassword) =>
  currentPassword ? { currentPassword } : { ssoReauthGrantId: reauthGrantId };

/**
 * Sends a change; asks for a factor and sends it again when the API wants a recent proof.
 * @template T
 * @param {'add_factor' | 'change_email' | 'replace_recovery_codes'} operation
 * @param {(stepUpGrantId?: string) => Promise<T>} change
 * @returns {Promise<T>}
 */
export async function withStepUp(operation, change) {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'existing_factor_step_up_required') throw error;
  }
  return change(await askForProof(operation));
}

/**
 * Opens the dialog that asks for a factor.
 * @param {string} operation
 * @returns {Promise<string>} the id of a grant
 */
function askForProof(operation) {
  const dialog = /** @type {HTMLDialogElement} */ (find('#step-up'));
  const hasCode = methods.some((method) => method !== 'passkey');
  show('#step-up-code', hasCode);
  show('#step-up-sms', methods.includes('sms'));
  show('#step-up-passkey', methods.includes('passkey'));
  return new Promise((resolve, reject) => {
    /** @param {import('./api.mjs').Body} proof */
    const grant = async (proof) => {
      const { stepUpGrantId } = await call('POST', '/auth/mfa/step-up', { operation, ...proof });
      dialog.close('granted');
      resolve(stepUpGrantId);
    };
    pending = { grant };
    dialog.addEventListener(
      'close',
      () => {
        if (dialog.returnValue !== 'granted') reject(new ApiError(0, { code: 'cancelled' }));
      },
      { once: true },
    );
    dialog.returnValue = '';
    /** @type {HTMLFormElement} */ (find('form', dialog)).reset();
    dialog.showModal();
  });
}

/** @type {{ grant: (proof: import('./api.mjs').Body) => Promise<void> } | null} */
let pending = null;

/** Handles the forms of the dialog, once for the page. */
export function startStepUp() {
  onSubmit('step-up', async ({ code = '' }) => {
    const isRecovery = /[A-Za-z-]/.test(code);
    const primary = methods.find((method) => method !== 'passkey') ?? 'totp';
    await pending?.grant({ method: isRecovery ? 'recovery' : primary, code: code.trim() });
  });
  onClick('#step-up-sms', async () => {
    await call('POST', '/auth/mfa/step-up/start', { method: 'sms' });
    show('#step-up-sms-sent');
  });
  onClick('#step-up-passkey', async () => {
    const { options } = await call('POST', '/auth/mfa/step-up/start', { method: 'passkey' });
    const credential = await assertPasskey(options);
    await pending?.grant({ method: 'passkey', credential });
  });
  onClick('#step-up-cancel', async () => /** @type {HTMLDialogElement} */ (find('#step-up')).close('cancelled'));
}
