/** The security page: profile, password, address and sessions of the signed-in user. */
import { ApiError, call, closeSession } from './api.mjs';
import { showConnections, startConnections } from './connections.mjs';
import { showFactors, startFactors } from './factors.mjs';
import { announce, fill, fillList, find, formatTime, go, onClick, onSubmit, requireSession, show, t } from './page.mjs';
import { currentProof, startReauthentication, withStepUp } from './proofs.mjs';

export async function start() {
  if (!(await requireSession())) return;
  show('#sign-out');
  startReauthentication();
  startFactors(refresh);
  startConnections(refresh);
  startForms();
  await refresh();
  show('#loading', false);
  show('#account');
}

/** Reads the account and its sessions and shows them. */
async function refresh() {
  const { user, memberships, pendingMemberships } = await call('GET', '/auth/me');
  const current = memberships.find((/** @type {import('./api.mjs').Body} */ one) => one.current);
  const tenant = current?.scope === 'system' ? t('switch.system') : (current?.orgName ?? current?.partnerName);
  fill({ name: user.name, email: user.email, tenant, role: current?.roleName });
  show('#switch-link', memberships.length > 1 || pendingMemberships.length > 0);
  for (const input of document.querySelectorAll('input[name="username"]')) {
    /** @type {HTMLInputElement} */ (input).value = user.email;
  }
  show('[data-needs="password"]', user.hasPassword);
  show('[data-needs="no-password"]', !user.hasPassword);
  for (const input of document.querySelectorAll('[data-needs="password"] input[name="currentPassword"]')) {
    /** @type {HTMLInputElement} */ (input).disabled = !user.hasPassword;
  }
  await Promise.all([showFactors(user), showSessions(), showConnections(current)]);
}

function startForms() {
  onSubmit('change-password', async ({ currentPassword, newPassword }) => {
    await call('POST', '/auth/change-password', { currentPassword, newPassword });
    closeSession();
    go('login?reason=password_changed');
  });
  onSubmit('change-email', async ({ email, currentPassword }, form) => {
    const { verificationSent, pendingEmail } = await withStepUp('change_email', (stepUpGrantId) =>
      call('PATCH', '/users/me', { email, ...currentProof(currentPassword), stepUpGrantId }),
    );
    form.reset();
    announce(t(verificationSent === false ? 'email.noMail' : 'email.sent', { email: pendingEmail ?? email }));
  });
  onClick('#end-sso', async () => {
    const { redirectUrl } = await call('POST', '/sso/logout', { returnTo: '/login' });
    closeSession();
    location.assign(redirectUrl ?? 'login?reason=signed_out');
  });
  onClick('#end-others', async () => {
    await call('DELETE', '/auth/sessions');
    await showSessions();
    announce(t('sessions.othersEnded'));
  });
}

async function showSessions() {
  try {
    const { data } = await call('GET', '/auth/sessions?limit=100');
    show('#sessions-unavailable', false);
    show('#end-others', data.length > 1);
    const isCurrent = (/** @type {import('./api.mjs').Body} */ session) => session.current;
    show('#end-sso', data.find(isCurrent)?.method === 'sso');
    fillList('sessions', data, showSession);
  } catch (error) {
    // Until a demanded factor is set up, the API answers little else.
    if (!(error instanceof ApiError) || error.status !== 428) throw error;
    show('#sessions-unavailable');
    show('#factor-required');
    show('#end-others', false);
  }
}

/**
 * @param {HTMLElement} entry
 * @param {import('./api.mjs').Body} session
 */
function showSession(entry, session) {
  const used = t('sessions.used', { time: formatTime(session.lastUsedAt), address: session.ipAddress ?? '-' });
  fill({ device: session.device, used }, entry);
  find('.badge', entry).hidden = !session.current;
  const button = find('button', entry);
  button.setAttribute('aria-label', t('sessions.endOf', { device: session.device }));
  onClick(button, async () => {
    await call('DELETE', `/auth/sessions/${session.id}`);
    if (session.current) {
      closeSession();
      return go('login?reason=signed_out');
    }
    await showSessions();
    announce(t('sessions.ended'));
  });
}
