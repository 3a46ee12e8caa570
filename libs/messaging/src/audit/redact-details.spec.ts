import { redactDetails, oneLine } from './redact-details.js';

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
    expect(redactDetails(details)).toEqual({
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
    const { note } = redactDetails({
      note: `used svc_${'a'.repeat(43)} and ${'0f'.repeat(32)} and Bearer eyJhbGciOi.eyJzdWIi`,
    });
    expect(note).toBe('used [removed] and [removed] and [removed]');
  });

  it('removes links, and tokens that say of themselves that they are random', () => {
    const token = 'q3dP0-Zk_1vXyB7nR2mT5wL8sJ4hG6fD9cA1eU3iO0Y';
    const { link, list } = redactDetails({
      link: `https://app.test/reset?token=abc&x=1`,
      list: [`it was ${token}.`, 'a-slug-of-the-same-length-as-a-token-would-b'],
    });
    expect(link).toBe('https://app.test/reset?token=[removed]&x=1');
    expect(list).toEqual(['it was [removed].', 'a-slug-of-the-same-length-as-a-token-would-b']);
  });

  it('removes codes where the name says so, and keeps codes that are words', () => {
    expect(
      redactDetails({ code: '123456', backupCode: 'ABCD-2345', reasonCode: 'mfa_required', zip: '123456' }),
    ).toEqual({
      code: '[removed]',
      backupCode: '[removed]',
      reasonCode: 'mfa_required',
      zip: '123456',
    });
  });

  it('leaves nothing of a secret that lies across the cut of a long text', () => {
    const { text } = redactDetails({ text: `${'x'.repeat(1_990)} ${'0f'.repeat(32)}` });
    expect(text).toBe(`${'x'.repeat(1_990)} [removed]`);
  });

  it('bounds what is long, wide or deep', () => {
    let deep: object = { end: 1 };
    for (let i = 0; i < 50; i++) deep = { deep };
    const details = { text: 'x'.repeat(9_000), list: Array<number>(9_000).fill(1), deep, bytes: Buffer.from('abc') };
    const cleansed = redactDetails(details) as { text: string; list: number[]; bytes: string };
    expect([cleansed.text.length, cleansed.list.length, cleansed.bytes]).toEqual([2_000, 200, '[removed]']);
    expect(JSON.stringify(cleansed).match(/"deep"/g)?.length).toBeLessThan(10);
  });

  it('leaves out what is too long altogether, but for the names', () => {
    const long = Array.from({ length: 200 }, () => 'x'.repeat(1_000));
    expect(redactDetails({ reason: 'import', long })).toEqual({ tooLong: true, fields: ['reason', 'long'] });
  });

  it('makes of every text one that a column holds', () => {
    expect(redactDetails({ text: 'a\u0000b\ud800c', 'na\u0000me': 1, smile: '\u{1f600}' })).toEqual({
      text: 'a\uFFFDb\uFFFDc',
      'na\uFFFDme': 1,
      smile: '\u{1f600}',
    });
  });
});

describe('one line', () => {
  it.each([
    ['Mozilla\r\nX-Injected: 1', 'Mozilla X-Injected: 1'],
    ['a\u2028b\tc\u0000d', 'a b c d'],
    ['half \ud83d', 'half \uFFFD'],
  ])('is made of %j', (text, line) => {
    expect(oneLine(text, 512)).toBe(line);
  });

  it('is cut', () => {
    expect(oneLine('x'.repeat(900), 512)).toHaveLength(512);
  });
});
