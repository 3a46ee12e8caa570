import { createHmac } from 'node:crypto';
import { Failure } from '../failure.mjs';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** `fleet totp <secret> [--next]`: the code an authenticator app would show now, or in the next 30 seconds (RFC 6238). */
export default function totp(args) {
  const secret = args.find((arg) => !arg.startsWith('--'));
  if (!secret || !/^[A-Z2-7]+=*$/i.test(secret)) throw new Failure('usage: fleet totp <base32 secret> [--next]');
  console.log(codeOf(secret, Math.floor(Date.now() / 30_000) + (args.includes('--next') ? 1 : 0)));
}

function codeOf(secret, step) {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = digest.at(-1) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

function fromBase32(text) {
  const bits = [...text.replace(/=+$/, '').toUpperCase()]
    .map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
}
