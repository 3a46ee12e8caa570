import { call } from './api.mjs';
import { announce, fillList, find, go, onClick, requireSession, show, t } from './page.mjs';

export async function start() {
  if (await requireSession()) await showMemberships();
}

async function showMemberships() {
  const { memberships, pendingMemberships } = await call('GET', '/auth/me');
  show('#loading', false);
  show('#only-one', memberships.length < 2);
  fillList('memberships', memberships, (entry, /** @type {import('./api.mjs').Body} */ membership) => {
    find('[data-value="tenant"]', entry).textContent = nameOf(membership);
    find('[data-value="role"]', entry).textContent = membership.roleName ?? '';
    find('.badge', entry).hidden = !membership.current;
    const button = find('button', entry);
    button.hidden = membership.current;
    button.setAttribute('aria-label', t('switch.to', { tenant: nameOf(membership) }));
    onClick(button, async () => {
      await call('POST', '/auth/switch', targetOf(membership));
      go('security?reason=switched');
    });
  });
  show('#pending', pendingMemberships.length > 0);
  fillList('pending', pendingMemberships, (entry, /** @type {import('./api.mjs').Body} */ pending) => {
    find('[data-value="tenant"]', entry).textContent = nameOf(pending);
    find('[data-value="role"]', entry).textContent = pending.roleName ?? '';
    const button = find('button', entry);
    button.setAttribute('aria-label', t('switch.declineOf', { tenant: nameOf(pending) }));
    onClick(button, async () => {
      await call('POST', '/auth/leave', targetOf(pending));
      await showMemberships();
      announce(t('switch.declined'));
    });
  });
}

/** @param {import('./api.mjs').Body} membership */
const nameOf = ({ scope, orgName, partnerName }) =>
  scope === 'system' ? t('switch.system') : String(orgName ?? partnerName ?? '');

/** @param {import('./api.mjs').Body} membership */
function targetOf({ scope, orgId, partnerId }) {
  if (scope === 'system') return { scope };
  return orgId === null ? { partnerId } : { orgId };
}
