import { eventually } from '@rmm/testing-services';
import { expectStatus, type CallOptions, type IdentityReplica } from './identity-test-app.js';
import { sessionOf } from './users.js';

let numbers = 0;
/** Returns a number that shares no rate limit. */
export const freshNumber = (): string => `+4179${String(1_000_000 + ++numbers).padStart(7, '0')}`;

/** Waits until a number has `count` messages; returns the code of the newest. */
export const sentCode = (identity: IdentityReplica, to: string, count = 1): Promise<string> =>
  eventually(async () => {
    const codes = (await identity.mails(to)).flatMap(({ text }) => /#(\d{6})$/.exec(text)?.[1] ?? []);
    const [code] = codes;
    if (code === undefined || codes.length < count) throw new Error(`no code for ${to}`);
    return code;
  });

export async function verifyPhone(identity: IdentityReplica, caller: CallOptions, phoneNumber = freshNumber()) {
  expectStatus(await identity.post('/auth/phone/verify', { phoneNumber }, caller), 200);
  const code = await sentCode(identity, phoneNumber);
  return expectStatus(await identity.post('/auth/phone/confirm', { phoneNumber, code }, caller), 200);
}

/** Verifies a number and makes SMS the factor of a user. */
export async function enableSms(identity: IdentityReplica, caller: CallOptions, phoneNumber = freshNumber()) {
  await verifyPhone(identity, caller, phoneNumber);
  const enabled = expectStatus(await identity.post('/auth/mfa/sms/enable', {}, caller), 200);
  return { phoneNumber, recoveryCodes: enabled.body.recoveryCodes as string[], ...sessionOf(enabled) };
}
