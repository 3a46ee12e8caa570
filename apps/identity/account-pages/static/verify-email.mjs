import { ApiError, call, openSession } from './api.mjs';
import { fill, hideToken, onClick, onSubmit, parameter, showStep } from './page.mjs';

/** The link changes something, so a click of the user sends it: programs that scan mails open links too. */
export async function start() {
  const token = parameter('token');
  if (!token) return offerResend();
  onSubmit('verify-email', async () => {
    try {
      showResult(await call('POST', '/auth/verify-email', { token }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'verification_invalid') throw error;
      showStep('invalid');
    }
    hideToken();
  });
}

/** @param {import('./api.mjs').Body} result */
function showResult({ verified, purpose, email, partner }) {
  fill({ email, partner: partner?.name });
  if (!verified) showStep('sign-in');
  else if (purpose === 'email_change') showStep('changed');
  else if (purpose === 'email_verification') showStep('confirmed');
  else showStep('registered');
}

/** Without a token: a signed-in user whose address is not verified gets another link. */
async function offerResend() {
  if (!(await openSession())) return showStep('invalid');
  showStep('resend');
  onClick('#resend', async () => {
    await call('POST', '/auth/resend-verification');
    showStep('sent');
  });
}
