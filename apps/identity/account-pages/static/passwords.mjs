/** Forgotten and new passwords. */
import { call } from './api.mjs';
import { hideToken, onSubmit, parameter, showStep } from './page.mjs';

export async function start() {
  onSubmit('forgot-password', async ({ email }) => {
    await call('POST', '/auth/forgot-password', { email });
    showStep('sent');
  });
  const token = parameter('token');
  if (document.documentElement.dataset.page === 'reset-password' && !token) return showStep('invalid');
  onSubmit('reset-password', async ({ password }) => {
    await call('POST', '/auth/reset-password', { token, password });
    hideToken();
    showStep('done');
  });
}
