import { generateSecret, generateURI, verifySync } from 'otplib';

const PERIOD_SECONDS = 30;
const DRIFT_STEPS = 1;
const SECRET_BYTES = 20;

/** Creates a base32 secret of 160 bits. */
export const newTotpSecret = (): string => generateSecret({ length: SECRET_BYTES });

/** Returns the URL for the QR code of an authenticator app: SHA-1, 6 digits, 30 seconds. */
export const totpUrl = (secret: string, email: string, issuer: string): string =>
  generateURI({ secret, label: email, issuer, algorithm: 'sha1', digits: 6, period: PERIOD_SECONDS });

/**
 * Returns the time step a code belongs to, with one step of drift either way.
 * @param nowMs  milliseconds of the server's clock
 * @returns the step (Unix seconds / 30), or null when the code matches none. The caller has to claim (user, step) once.
 */
export function matchTotpStep(secret: string, code: string, nowMs: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const epoch = Math.floor(nowMs / 1000);
  const current = Math.floor(epoch / PERIOD_SECONDS);
  for (const step of [current, current - DRIFT_STEPS, current + DRIFT_STEPS]) {
    const { valid } = verifySync({ secret, token: code, epoch: step * PERIOD_SECONDS, period: PERIOD_SECONDS });
    if (valid) return step;
  }
  return null;
}
