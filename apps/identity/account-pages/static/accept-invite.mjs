import { ApiError, call, openSession } from './api.mjs';
import { completeLogin } from './factor.mjs';
import { fill, go, onClick, onSubmit, parameter, show, showStep } from './page.mjs';

export async function start() {
  const token = parameter('token');
  if (!token) return showStep('invalid');
  try {
    await preview(token);
  } catch (error) {
    if (!(error instanceof ApiError) || ![404, 410].includes(error.status)) throw error;
    return showStep(error.status === 410 ? 'accepted' : 'invalid');
  }
  onSubmit('new-account', ({ name, password }) => accept({ token, password, name: name || undefined }));
  onSubmit('existing-account', ({ password }) => accept({ token, password }));
  onClick('#accept-signed-in', () => accept({ token }));
  onClick('#have-account', async () => showStep('existing'));
  onClick('#no-account', async () => showStep('new'));
}

/** @param {string} token */
async function preview(token) {
  const { email, name, orgName, partnerName } = await call('POST', '/auth/invite/preview', { token });
  fill({ email, tenant: orgName ?? partnerName });
  for (const input of document.querySelectorAll('input[name="username"]')) {
    /** @type {HTMLInputElement} */ (input).value = email;
  }
  const nameInput = document.querySelector('input[name="name"]');
  if (nameInput instanceof HTMLInputElement) nameInput.value = name;
  const { user } = (await openSession()) ? await call('GET', '/auth/me') : { user: null };
  const isInvited = user?.email === email;
  show('#accept-signed-in-area', isInvited);
  showStep(isInvited || parameter('account') === 'existing' ? 'existing' : 'new');
}

/** @param {Record<string, string | undefined>} body */
async function accept(body) {
  const login = await completeLogin(await call('POST', '/auth/accept-invite', body));
  go(login.mfaEnrollmentRequired ? 'security?reason=mfa_required' : 'security?reason=invitation_accepted');
}
