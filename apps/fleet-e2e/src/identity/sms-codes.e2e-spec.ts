import { randomInt } from 'node:crypto';
import { ApiClient, connectToFleet, eventually, MailboxClient, PASSWORD, registerPartner } from '@rmm/testing';
import { must } from '../steps.js';

describe('codes by SMS', () => {
  const fleet = connectToFleet();
  const phoneNumber = `+4179${randomInt(1_000_000, 10_000_000)}`;

  const codes = (count: number): Promise<string[]> =>
    eventually(async () => {
      const messages = await new MailboxClient(fleet.mailboxUrl).messages(phoneNumber);
      const sent = messages.flatMap(({ channel, text }) =>
        channel === 'sms' ? (/#(\d{6})$/.exec(text)?.[1] ?? []) : [],
      );
      expect(sent).toHaveLength(count);
      return sent;
    });

  it('verify a number, enable MFA and complete a login', async () => {
    const { client, email } = await registerPartner(fleet);
    must(await client.post('/auth/phone/verify', { phoneNumber }), 200);
    const [confirmation] = await codes(1);
    must(await client.post('/auth/phone/confirm', { phoneNumber, code: confirmation }), 200);
    const enabled = must(await client.post('/auth/mfa/sms/enable', {}), 200);
    expect(enabled.recoveryCodes).toHaveLength(10);

    const anonymous = new ApiClient(fleet.baseUrl);
    const login = must(await anonymous.post('/auth/login', { email, password: PASSWORD }), 200);
    expect(login).toMatchObject({ mfaRequired: true, mfaMethod: 'sms', phoneLast4: phoneNumber.slice(-4) });
    const { tempToken } = login as { tempToken: string };
    must(await anonymous.post('/auth/mfa/sms/send', { tempToken }), 200);
    const [code] = await codes(2);
    const old = await anonymous.post('/auth/mfa/verify', { tempToken, code: confirmation });
    expect([old.status, old.body.code]).toEqual([400, 'mfa_code_invalid']);
    const session = must(await anonymous.post('/auth/mfa/verify', { tempToken, code }), 200);
    const signedIn = anonymous.as({ bearer: session.tokens.accessToken as string });
    expect(must(await signedIn.get('/auth/me'), 200).user).toMatchObject({ mfaMethod: 'sms', phoneVerified: true });
  });
});
