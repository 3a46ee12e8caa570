import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { generateSync } from 'otplib';
import { matchTotpStep, newTotpSecret, totpUrl } from './totp.js';

// RFC 6238, appendix B: the ASCII secret '12345678901234567890' in base32, SHA-1, the last six of eight digits.
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const VECTORS: [number, string][] = [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
];

/** RFC 4226, appendix D: the codes of the same secret by counter; the counter of TOTP is the time step. */
const HOTP = ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'];

const hasOathtool = spawnSync('oathtool', ['--version']).status === 0;
const oathtool = (secret: string, seconds: number): string => {
  const now = `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return spawnSync('oathtool', ['--totp', '--base32', '--now', now, secret], { encoding: 'utf8' }).stdout.trim();
};

/** RFC 4226 by hand, for the ASCII secret of the vectors. */
function byHand(seconds: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(seconds / 30)));
  const mac = createHmac('sha1', '12345678901234567890').update(counter).digest();
  const number = mac.readUInt32BE((mac[19] ?? 0) & 0xf) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

describe('TOTP', () => {
  it.each(VECTORS)('matches RFC 6238 at %d seconds', (seconds, code) => {
    expect(matchTotpStep(SECRET, code, seconds * 1000)).toBe(Math.floor(seconds / 30));
  });

  it.each(HOTP.map((code, counter) => [counter, code] as const))('matches RFC 4226 at counter %d', (counter, code) => {
    expect(matchTotpStep(SECRET, code, counter * 30_000)).toBe(counter);
    expect(matchTotpStep(SECRET, code, (counter + 2) * 30_000)).toBeNull();
  });

  it('matches an independent computation', () => {
    for (let at = 1_700_000_000; at < 1_700_100_000; at += 997) {
      expect(matchTotpStep(SECRET, byHand(at), at * 1000)).toBe(Math.floor(at / 30));
    }
  });

  (hasOathtool ? it : it.skip)('agrees with oathtool', () => {
    const secret = newTotpSecret();
    for (const at of [1_700_000_010, 1_795_000_000, 2_000_000_000]) {
      expect(matchTotpStep(secret, oathtool(secret, at), at * 1000)).toBe(Math.floor(at / 30));
    }
  });

  it('accepts one step of drift and returns the step', () => {
    const at = 1_700_000_010;
    const step = Math.floor(at / 30);
    for (const drift of [-1, 0, 1]) {
      const code = generateSync({ secret: SECRET, epoch: at + drift * 30 });
      expect(matchTotpStep(SECRET, code, at * 1000)).toBe(step + drift);
    }
  });

  it('refuses two steps of drift', () => {
    const at = 1_700_000_010;
    for (const drift of [-2, 2]) {
      const code = generateSync({ secret: SECRET, epoch: at + drift * 30 });
      expect(matchTotpStep(SECRET, code, at * 1000)).toBeNull();
    }
  });

  it.each(['28708', '2870820', ' 287082', '２８７０８２', '287 082', 'abcdef', ''])('refuses the shape %j', (code) => {
    expect(matchTotpStep(SECRET, code, 59_000)).toBeNull();
  });

  it('creates secrets of 160 bits and a URL with issuer and account', () => {
    const secret = newTotpSecret();
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(newTotpSecret()).not.toBe(secret);
    const url = new URL(totpUrl(secret, 'a@b.test', 'RMM'));
    expect(url.protocol).toBe('otpauth:');
    expect(url.searchParams.get('secret')).toBe(secret);
    expect(url.searchParams.get('issuer')).toBe('RMM');
  });
});
