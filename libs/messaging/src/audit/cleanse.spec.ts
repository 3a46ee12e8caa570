import { cleanse } from './cleanse.js';

describe('cleanse', () => {
  it('removes what is named like a secret, at any depth, and keeps flags and counts', () => {
    const details = {
      newPassword: 'hunter2',
      nested: { refresh_token: 'abc', list: [{ clientSecret: { a: 1 } }] },
      secretRotated: true,
      tokens: 3,
      enrollmentKeyId: 'k1',
      html: '<p>Your code is 123456</p>',
      reason: 'expired',
    };
    expect(cleanse(details)).toEqual({
      newPassword: '[removed]',
      nested: { refresh_token: '[removed]', list: [{ clientSecret: '[removed]' }] },
      secretRotated: true,
      tokens: 3,
      enrollmentKeyId: 'k1',
      html: '[removed]',
      reason: 'expired',
    });
  });

  it('removes keys and tokens inside texts whatever they are called', () => {
    const { note } = cleanse({
      note: `used svc_${'a'.repeat(43)} and ${'0f'.repeat(32)} and Bearer eyJhbGciOi.eyJzdWIi`,
    });
    expect(note).toBe('used [removed] and [removed] and [removed]');
  });
});
