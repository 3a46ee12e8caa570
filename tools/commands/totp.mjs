import { createHmac } from 'node:crypto';
import { Failure } from '../failure.mjs';
import { readOptions } from './options.mjs';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const STEP_MS = 30_000;

/** `fleet totp <secret> [--next]`: the six digits an authenticator app would show, now or in the next half minute. */
export default function totp(args) {
  const { values, positionals } = readOptions(
    args,
    { next: { type: 'boolean', default: false } },
    { allowPositionals: true },
  );
  const [secret] = positionals;
  if (!secret || !/^[A-Z2-7]+=*$/i.test(secret))
    throw new Failure('fleet totp wants the secret that the set-up answered, in base32.');
  console.log(totpCode(secret, Math.floor(Date.now() / STEP_MS) + (values.next ? 1 : 0)));
}

/** @see RFC 6238 */
export function totpCode(secret, counter) {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const digest = createHmac('sha1', fromBase32(secret)).update(message).digest();
  const offset = digest.at(-1) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}

function fromBase32(text) {
  const bits = [...text.replace(/=+$/, '').toUpperCase()].map((letter) =>
    ALPHABET.indexOf(letter).toString(2).padStart(5, '0'),
  );
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
}
