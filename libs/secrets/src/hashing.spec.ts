import { equalInConstantTime, hashEnrollmentKey, hashKey } from './hashing.js';

describe('hashing', () => {
  it('returns SHA-256, for enrollment keys of the pepper and the key', () => {
    expect(hashKey('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(hashEnrollmentKey('c', 'a:b')).toEqual(hashKey('a:b:c'));
  });

  it('compares texts and bytes of any length', () => {
    expect(equalInConstantTime('abc', 'abc')).toBe(true);
    expect(equalInConstantTime('abc', Buffer.from('abc'))).toBe(true);
    expect(equalInConstantTime('abc', 'abd')).toBe(false);
    expect(equalInConstantTime('abc', 'abcd')).toBe(false);
    expect(equalInConstantTime('', '')).toBe(true);
  });
});
