import { call } from './api.mjs';
import { fill, onSubmit, showStep } from './page.mjs';

export async function start() {
  onSubmit('sign-up', async ({ companyName, email, name, password, acceptTerms }) => {
    const form = { companyName, email, name, password, acceptTerms: acceptTerms === 'on' };
    await call('POST', '/auth/register-partner', form);
    fill({ email });
    showStep('sent');
  });
}
