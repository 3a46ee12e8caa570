/** The script of every account page: starts what the page needs. */
import { endSession } from './api.mjs';
import { announce, errorText, go, loadTexts, onClick, parameter, t } from './page.mjs';

/** @type {Record<string, () => Promise<{ start: () => Promise<void> }>>} */
const SCRIPTS = {
  'accept-invite': () => import('./accept-invite.mjs'),
  'forgot-password': () => import('./passwords.mjs'),
  login: () => import('./login.mjs'),
  'reset-password': () => import('./passwords.mjs'),
  security: () => import('./security.mjs'),
  'sign-up': () => import('./sign-up.mjs'),
  switch: () => import('./switch.mjs'),
  'verify-email': () => import('./verify-email.mjs'),
};

/** The callback of single sign-on ends with a code in the fragment, on any page; the sign-in page exchanges it. */
function forwardSignInCode(/** @type {string} */ page) {
  if (page === 'login' || !location.hash.startsWith('#ssoCode=')) return false;
  location.replace(`login?returnTo=${encodeURIComponent(`/${page}`)}${location.hash}`);
  return true;
}

async function main() {
  const page = document.documentElement.dataset.page ?? '';
  if (forwardSignInCode(page)) return;
  await loadTexts();
  onClick('#sign-out', async () => {
    await endSession();
    go('login?reason=signed_out');
  });
  const reason = parameter('reason');
  if (reason !== null && t(`reason.${reason}`) !== `reason.${reason}`) announce(t(`reason.${reason}`));
  try {
    await (await SCRIPTS[page]?.())?.start();
  } catch (error) {
    announce(errorText(error));
  }
  document.documentElement.dataset.ready = 'true';
}

void main();
