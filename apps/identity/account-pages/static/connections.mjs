/** Connected sign-in: links the account to the identity that its provider knows. */
import { ApiError, call } from './api.mjs';
import { announce, fill, fillList, find, formatTime, onClick, onSubmit, show, t } from './page.mjs';
import { currentProof } from './proofs.mjs';

/** @typedef {import('./api.mjs').Body} Body */

const dialog = () => /** @type {HTMLDialogElement} */ (find('#sso-unlink'));

/** @param {() => Promise<void>} refresh */
export function startConnections(refresh) {
  if (new URLSearchParams(location.hash.slice(1)).get('ssoLinked') === 'true') {
    history.replaceState(null, '', location.pathname);
    announce(t('connections.linked'));
  }
  onSubmit('sso-link', async ({ providerId, currentPassword }) => {
    const body = { providerId, ...currentProof(currentPassword), returnTo: '/security' };
    const { redirectUrl } = await call('POST', '/sso/link', body);
    location.assign(redirectUrl);
  });
  onSubmit('sso-unlink', async ({ currentPassword }, form) => {
    await call('DELETE', `/sso/identities/${dialog().dataset.id}`, { currentPassword });
    form.reset();
    dialog().close();
    await refresh();
    announce(t('connections.removed'));
  });
  onClick('#sso-unlink-cancel', async () => dialog().close());
}

/**
 * Lists the connections, and offers the active providers of the tenant in use.
 * @param {Body | undefined} membership
 */
export async function showConnections(membership) {
  const [identities, providers] = await Promise.all([list('/sso/identities?limit=100'), listProviders(membership)]);
  const isConnected = (/** @type {Body} */ provider) => identities.some(({ providerId }) => providerId === provider.id);
  const offered = providers.filter((provider) => provider.status === 'active' && !isConnected(provider));
  show('#connections', identities.length + offered.length > 0);
  show('form[data-form="sso-link"]', offered.length > 0);
  fillList('identities', identities, showIdentity);
  find('#sso-provider').replaceChildren(...offered.map(({ id, name }) => new Option(name, id)));
}

/** @param {Body | undefined} membership */
function listProviders(membership) {
  if (!membership || membership.scope === 'system') return [];
  return list(`/sso/providers?limit=100${membership.scope === 'partner' ? '&scope=partner' : ''}`);
}

/**
 * Lists what the API offers to this user; nothing where it refuses.
 * @param {string} path
 * @returns {Promise<Body[]>}
 */
async function list(path) {
  try {
    return (await call('GET', path)).data;
  } catch (error) {
    if (error instanceof ApiError && [403, 404, 428].includes(error.status)) return [];
    throw error;
  }
}

/**
 * @param {HTMLElement} entry
 * @param {Body} identity
 */
function showIdentity(entry, { id, providerName, email, lastLoginAt }) {
  const used = lastLoginAt ? t('connections.used', { time: formatTime(lastLoginAt) }) : t('connections.never');
  fill({ provider: providerName, used: `${email ?? ''} · ${used}` }, entry);
  const button = find('button', entry);
  button.setAttribute('aria-label', t('connections.removeOf', { provider: providerName }));
  onClick(button, async () => {
    dialog().dataset.id = id;
    fill({ unlinked: t('connections.removeTitle', { provider: providerName }) });
    dialog().showModal();
  });
}
