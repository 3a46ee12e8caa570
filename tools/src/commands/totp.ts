import { generate } from 'otplib';
import { FleetError } from '../errors.js';

/** Prints the six digits an authenticator app shows now, or in the next half minute. */
export async function totp(secret: string, { next }: { next?: boolean }): Promise<void> {
  if (!/^[A-Z2-7]+=*$/i.test(secret))
    throw new FleetError('The secret must be base32, as the set-up of MFA returns it.');
  const epoch = Math.floor(Date.now() / 1_000) + (next ? 30 : 0);
  console.log(await generate({ secret: secret.toUpperCase().replace(/=+$/, ''), epoch }));
}
