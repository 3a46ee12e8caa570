import { randomBytes } from 'node:crypto';
import { UnsealFailed } from './key-ring.errors.js';
import { KeyRing } from './key-ring.js';

describe('KeyRing', () => {
  const old = randomBytes(32);
  const fresh = randomBytes(32);
  const ring = new KeyRing({ keys: { old }, activeKid: 'old' });

  it('opens a sealed text with the same context', () => {
    const sealed = ring.seal('s3cret ✓', 'webhook.secret:1');
    expect(sealed).toMatch(/^v1\.old\.[A-Za-z0-9_-]+$/);
    expect(sealed).not.toContain('s3cret');
    expect(ring.open(sealed, 'webhook.secret:1')).toBe('s3cret ✓');
  });

  it('seals an empty text too', () => {
    expect(ring.open(ring.seal('', 'c'), 'c')).toBe('');
  });

  it('seals the same text differently each time', () => {
    expect(ring.seal('a', 'c')).not.toBe(ring.seal('a', 'c'));
  });

  it('rejects another context', () => {
    expect(() => ring.open(ring.seal('a', 'webhook.secret:1'), 'webhook.secret:2')).toThrow(UnsealFailed);
  });

  it('rejects a change of any byte', () => {
    const [version, kid, body] = ring.seal('abc', 'c').split('.') as [string, string, string];
    const bytes = Buffer.from(body, 'base64url');
    for (let i = 0; i < bytes.length; i += 1) {
      const changed = Buffer.from(bytes);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => ring.open(`${version}.${kid}.${changed.toString('base64url')}`, 'c')).toThrow(UnsealFailed);
    }
  });

  it.each([
    ['', 'nothing'],
    ['v1.old', 'no body'],
    ['v2.old.AAAA', 'another version'],
    ['v1.old.AAAA', 'too short'],
    ['plain text', 'no sealed text'],
  ])('rejects %p (%s)', (text) => {
    expect(() => ring.open(text, 'c')).toThrow(UnsealFailed);
  });

  it('rejects a non-canonical encoding of the same bytes', () => {
    expect(() => ring.open(`${ring.seal('abc', 'c')}=`, 'c')).toThrow(UnsealFailed);
  });

  it('opens old texts after a rotation, seals with the new key, and reports old ones as not current', () => {
    const before = ring.seal('a', 'c');
    const rotated = new KeyRing({ keys: { old, fresh }, activeKid: 'fresh' });
    expect(rotated.open(before, 'c')).toBe('a');
    expect(rotated.isCurrent(before)).toBe(false);
    const after = rotated.seal('a', 'c');
    expect(after.startsWith('v1.fresh.')).toBe(true);
    expect(rotated.isCurrent(after)).toBe(true);
  });

  it('rejects a text whose key was removed from the ring or whose key id was changed', () => {
    const rotated = new KeyRing({ keys: { fresh }, activeKid: 'fresh' });
    const sealed = ring.seal('a', 'c');
    expect(() => rotated.open(sealed, 'c')).toThrow('No key "old" in the key ring');
    expect(() => rotated.open(sealed.replace('v1.old.', 'v1.fresh.'), 'c')).toThrow(UnsealFailed);
  });

  it('rejects rings with invalid keys or without the active key', () => {
    expect(() => new KeyRing({ keys: { old }, activeKid: 'missing' })).toThrow('"missing" is not in the key ring');
    expect(() => new KeyRing({ keys: { a: Buffer.alloc(16) }, activeKid: 'a' })).toThrow('must be 32 bytes, got 16');
    expect(() => new KeyRing({ keys: { 'a.b': old }, activeKid: 'a.b' })).toThrow('key id "a.b"');
  });
});
