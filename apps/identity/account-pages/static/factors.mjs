/** The factors of the account: authenticator app, text messages, passkeys, recovery codes. */
import { ApiError, call } from './api.mjs';
import { announce, errorText, fill, fillList, find, formatTime, onClick, onSubmit, show, t } from './page.mjs';
import { createPasskey, passkeysAreSupported } from './passkeys.mjs';
import { currentProof, setStepUpMethods, startStepUp, withStepUp } from './proofs.mjs';

/** Shows the account again after a change. @type {() => Promise<void>} */
let refresh = async () => undefined;

/** @param {() => Promise<void>} update */
export function startFactors(update) {
  if (!document.querySelector('#factors')) return;
  refresh = update;
  startStepUp();
  startTotp();
  startSms();
  startPasskeys();
  startRecoveryCodes();
}

/**
 * Shows which factors are on.
 * @param {import('./api.mjs').Body} user
 */
export async function showFactors(user) {
  if (!document.querySelector('#factors')) return;
  const passkeys = await listPasskeys();
  const { mfaEnabled, mfaMethod, recoveryCodesLeft, phoneLast4 } = user;
  const hasCode = mfaMethod === 'totp' || mfaMethod === 'sms';
  setStepUpMethods([...(hasCode ? [mfaMethod] : []), ...(passkeys.length > 0 ? ['passkey'] : [])]);
  showState('totp', mfaMethod === 'totp');
  showState('sms', mfaMethod === 'sms');
  showState('passkeys', passkeys.length > 0);
  show('#totp-off', mfaMethod !== 'totp');
  show('#totp-setup', false);
  show('#sms-off', mfaMethod !== 'sms');
  show('#sms-confirm', false);
  show('#disable-mfa', mfaEnabled);
  show('#recovery', mfaEnabled);
  fill({ recoveryCodesLeft, phoneLast4 });
  fillList('passkeys', passkeys, showPasskey);
}

/**
 * @param {string} factor
 * @param {boolean} isOn
 */
function showState(factor, isOn) {
  const badge = find(`[data-state="${factor}"]`);
  badge.textContent = t(isOn ? 'factors.on' : 'factors.off');
  badge.classList.toggle('on', isOn);
}

/** Shows codes that the API returns once. @param {string[]} codes */
function showCodes(codes) {
  fillList('codes', codes, (entry, code) => (entry.textContent = code));
  const dialog = /** @type {HTMLDialogElement} */ (find('#codes'));
  dialog.showModal();
}

function startTotp() {
  /** @type {string | undefined} */
  let grantId;
  onClick('#totp-start', async () => {
    const setup = await withStepUp('add_factor', (stepUpGrantId) => {
      grantId = stepUpGrantId;
      return call('POST', '/auth/mfa/setup', { stepUpGrantId });
    });
    /** @type {HTMLImageElement} */ (find('#totp-qr')).src = setup.qrCodeDataUrl;
    fill({ secret: setup.secret.replace(/(.{4})(?=.)/g, '$1 ') });
    show('#totp-off', false);
    show('#totp-setup');
    find('#totp-setup input').focus();
  });
  onSubmit('totp-enable', async ({ code = '' }, form) => {
    const { recoveryCodes } = await call('POST', '/auth/mfa/enable', { code: code.trim(), stepUpGrantId: grantId });
    form.reset();
    fill({ secret: '' });
    /** @type {HTMLImageElement} */ (find('#totp-qr')).removeAttribute('src');
    await refresh();
    announce(t('factors.enabled'));
    showCodes(recoveryCodes);
  });
  onSubmit('disable-mfa', async ({ currentPassword, code = '' }, form) => {
    await call('POST', '/auth/mfa/disable', { ...currentProof(currentPassword), code: code.trim() });
    form.reset();
    await refresh();
    announce(t('factors.disabled'));
  });
}

function startSms() {
  /** @type {string | undefined} */
  let phoneNumber;
  onSubmit('phone-verify', async (values) => {
    phoneNumber = values.phoneNumber?.replace(/[\s()/-]/g, '');
    await withStepUp('add_factor', (stepUpGrantId) =>
      call('POST', '/auth/phone/verify', { phoneNumber, stepUpGrantId }),
    );
    show('#sms-off', false);
    show('#sms-confirm');
    find('#sms-confirm input').focus();
  });
  onSubmit('phone-confirm', async ({ code = '' }, form) => {
    await call('POST', '/auth/phone/confirm', { phoneNumber, code: code.trim() });
    const { recoveryCodes } = await withStepUp('add_factor', (stepUpGrantId) =>
      call('POST', '/auth/mfa/sms/enable', { stepUpGrantId }),
    );
    form.reset();
    await refresh();
    announce(t('factors.enabled'));
    showCodes(recoveryCodes);
  });
}

/** @returns {Promise<import('./api.mjs').Body[]>} */
async function listPasskeys() {
  try {
    return (await call('GET', '/auth/passkeys')).data;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []; // not offered by this installation
    throw error;
  }
}

function startPasskeys() {
  show('#passkeys-unsupported', !passkeysAreSupported());
  show('#passkey-add', passkeysAreSupported());
  onSubmit('passkey-add', async ({ currentPassword, name }, form) => {
    const proof = currentProof(currentPassword);
    /** @type {string | undefined} */
    let grantId;
    const { options } = await withStepUp('add_factor', (stepUpGrantId) => {
      grantId = stepUpGrantId;
      return call('POST', '/auth/passkeys/register/options', { ...proof, name: name || undefined, stepUpGrantId });
    });
    const credential = await createPasskey(options);
    const body = { credential, name: name || undefined, stepUpGrantId: grantId };
    const { recoveryCodes } = await call('POST', '/auth/passkeys/register/verify', body);
    form.reset();
    await refresh();
    announce(t('passkeys.added'));
    if (recoveryCodes) showCodes(recoveryCodes);
  });
  const dialog = /** @type {HTMLDialogElement} */ (find('#passkey-edit'));
  onSubmit('passkey-rename', async ({ name }) => {
    await call('PATCH', `/auth/passkeys/${dialog.dataset.id}`, { name });
    dialog.close();
    await refresh();
    announce(t('passkeys.renamed'));
  });
  onSubmit('passkey-delete', async ({ currentPassword }, form) => {
    await call('DELETE', `/auth/passkeys/${dialog.dataset.id}`, currentProof(currentPassword));
    form.reset();
    dialog.close();
    await refresh();
    announce(t('passkeys.deleted'));
  });
  onClick('#passkey-close', async () => dialog.close());
}

/**
 * @param {HTMLElement} entry
 * @param {import('./api.mjs').Body} passkey
 */
function showPasskey(entry, { id, name, createdAt, lastUsedAt }) {
  const used = lastUsedAt
    ? t('passkeys.used', { time: formatTime(lastUsedAt) })
    : t('passkeys.created', { time: formatTime(createdAt) });
  fill({ passkey: name, used }, entry);
  const button = find('button', entry);
  button.setAttribute('aria-label', t('passkeys.editOf', { name }));
  onClick(button, async () => {
    const dialog = /** @type {HTMLDialogElement} */ (find('#passkey-edit'));
    dialog.dataset.id = id;
    /** @type {HTMLInputElement} */ (find('input[name="name"]', dialog)).value = name;
    dialog.showModal();
  });
}

function startRecoveryCodes() {
  const dialog = /** @type {HTMLDialogElement} */ (find('#codes'));
  onClick('#codes-copy', async () => {
    const codes = [...dialog.querySelectorAll('[data-list="codes"] li')].map(({ textContent }) => textContent);
    await navigator.clipboard.writeText(codes.join('\n'));
    find('#codes-copied').hidden = false;
  });
  onClick('#codes-close', async () => dialog.close());
  dialog.addEventListener('close', () => {
    find('#codes-copied').hidden = true;
    find('[data-list="codes"]').replaceChildren();
  });
  onClick('#recovery-replace', async () => {
    const { recoveryCodes } = await withStepUp('replace_recovery_codes', (stepUpGrantId) =>
      call('POST', '/auth/mfa/recovery-codes', { stepUpGrantId }),
    ).catch((error) => {
      if (error instanceof ApiError && error.code === 'mfa_required') announce(errorText(error));
      throw error;
    });
    await refresh();
    showCodes(recoveryCodes);
  });
}
