import { ApiError, call, openSession } from './api.mjs';
import { completeLogin } from './factor.mjs';
import { announce, errorText, find, go, onClick, onSubmit, parameter, returnPage, show, showStep, t } from './page.mjs';
import { assertPasskey, passkeysAreSupported } from './passkeys.mjs';

export async function start() {
  const code = new URLSearchParams(location.hash.slice(1)).get('ssoCode');
  if (code !== null) return exchange(code);
  const error = parameter('error');
  if (error !== null) announce(singleSignOnError(error));
  else if (await openSession().catch(() => false)) return go(returnPage());
  const orgId = parameter('orgId') ?? undefined;
  onSubmit('login', async ({ email, password }) => {
    await finish(await signIn({ email, password, orgId }));
  });
  show('#passkey-sign-in', passkeysAreSupported());
  onClick('#passkey-sign-in', async () => {
    const { options } = await call('POST', '/auth/passkeys/login/options', {});
    const credential = await assertPasskey(options);
    await finish(await call('POST', '/auth/passkeys/login/verify', { credential }));
  });
  onClick('#sso-start', async () => {
    showStep('sso');
    find('#sso-email').focus();
  });
  onClick('#sso-back', async () => showStep('password'));
  onSubmit('sso', async ({ email }) => {
    const { sso } = await call('POST', '/auth/sso-discovery', { email });
    if (sso) return startSingleSignOn(sso.loginUrl);
    announce(t('sso.notFound'));
  });
  await offerProviders(orgId);
}

/**
 * Signs in with a password. Where the domain of the address is that of an organization with enforced single sign-on, a
 * refusal leads there: the API answers as to a wrong password.
 * @param {import('./api.mjs').Body} body
 */
async function signIn(body) {
  try {
    return await call('POST', '/auth/login', body);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'login_failed') throw error;
    const { sso } = await call('POST', '/auth/sso-discovery', { email: body.email }).catch(() => ({ sso: null }));
    if (!sso) throw error;
    offer(sso);
    throw new ApiError(error.status, { code: 'sso_enforced', provider: sso.providerName });
  }
}

/**
 * Shows buttons for the provider of the organization that the address names, and for that of the only partner.
 * @param {string | undefined} orgId
 */
async function offerProviders(orgId) {
  const organization = orgId ? await call('GET', `/sso/check/${encodeURIComponent(orgId)}`).catch(() => null) : null;
  const context = await call('GET', '/auth/login-context').catch(() => null);
  const offered = [
    organization?.ssoEnabled ? { providerName: organization.provider.name, loginUrl: organization.loginUrl } : null,
    context?.partnerSso ?? null,
  ];
  for (const provider of offered) if (provider) offer(provider);
}

/**
 * Shows a button for a provider, once.
 * @param {import('./api.mjs').Body} provider
 */
function offer({ providerName, loginUrl }) {
  const area = find('#providers');
  if ([...area.children].some((child) => /** @type {HTMLElement} */ (child).dataset.url === loginUrl)) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'full';
  button.dataset.url = loginUrl;
  button.textContent = t('sso.continueWith', { provider: providerName });
  area.append(button);
  onClick(button, async () => startSingleSignOn(loginUrl));
}

/**
 * Opens the provider by way of the API's own address, to which it sends the browser back.
 * @param {string} loginUrl  a path of the API
 */
function startSingleSignOn(loginUrl) {
  const { origin, pathname } = new URL(document.documentElement.dataset.apiUrl ?? location.origin);
  const url = new URL(loginUrl, origin);
  if (!url.pathname.startsWith('/api/')) throw new Error('not a path of the API');
  url.pathname = pathname.replace(/\/+$/, '') + url.pathname;
  url.searchParams.set('returnTo', `/${returnPage()}`);
  location.assign(`${origin}${url.pathname}${url.search}`);
}

/** @param {string} code  of the callback of single sign-on */
async function exchange(code) {
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await finish(await call('POST', '/sso/exchange', { code }));
  } catch (error) {
    announce(errorText(error));
  }
}

/** @param {import('./api.mjs').Body} login */
async function finish(login) {
  const { mfaEnrollmentRequired, requiresSetup } = await completeLogin(login);
  if (mfaEnrollmentRequired) go('security?reason=mfa_required');
  else go(requiresSetup ? 'security?reason=setup_required' : returnPage());
}

/** @param {string} code */
function singleSignOnError(code) {
  const values = { code: code.slice(0, 60) };
  const text = t(`sso.error.${code}`, values);
  return text.startsWith('sso.error.') ? t('sso.error.other', values) : text;
}
