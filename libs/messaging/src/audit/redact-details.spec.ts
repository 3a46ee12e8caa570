import { redactDetails, oneLine } from './redact-details.js';

describe('redactDetails', () => {
  it('removes fields with the name of a secret at any depth and keeps flags and counts', () => {
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

  it('removes keys and tokens inside texts under any field name', () => {
    const { note } = redactDetails({
      note: `used svc_${'a'.repeat(43)} and ${'0f'.repeat(32)} and Bearer eyJhbGciOi.eyJzdWIi`,
    });
    expect(note).toBe('used [removed] and [removed] and [removed]');
  });

  it('keeps digests in fields that are named for them', () => {
    const digest = '0f'.repeat(32);
    const details = { bundleSha256: digest, sha256: digest, tokenSha256: `svc_${'a'.repeat(43)}`, secret: digest };
    expect(redactDetails(details)).toEqual({
      bundleSha256: digest,
      sha256: '[removed]',
      tokenSha256: '[removed]',
      secret: '[removed]',
    });
  });

  it('removes tokens in links and random tokens inside texts', () => {
    const token = 'q3dP0-Zk_1vXyB7nR2mT5wL8sJ4hG6fD9cA1eU3iO0Y';
    const { link, list } = redactDetails({
      link: `https://app.test/reset?token=abc&x=1`,
      list: [`it was ${token}.`, 'a-slug-of-the-same-length-as-a-token-would-b'],
    });
    expect(link).toBe('https://app.test/reset?token=[removed]&x=1');
    expect(list).toEqual(['it was [removed].', 'a-slug-of-the-same-length-as-a-token-would-b']);
  });

  it('removes one-time codes in fields named code and keeps codes that are words', () => {
    expect(
      redactDetails({ code: '123456', backupCode: 'ABCD-2345', reasonCode: 'mfa_required', zip: '123456' }),
    ).toEqual({
      code: '[removed]',
      backupCode: '[removed]',
      reasonCode: 'mfa_required',
      zip: '123456',
    });
  });

  it('removes a secret that crosses the truncation of a long text', () => {
    const { text } = redactDetails({ text: `${'x'.repeat(1_990)} ${'0f'.repeat(32)}` });
    expect(text).toBe(`${'x'.repeat(1_990)} [removed]`);
  });

  it('truncates long texts, long lists and deep objects', () => {
    let deep: object = { end: 1 };
    for (let i = 0; i < 50; i++) deep = { deep };
    const details = { text: 'x'.repeat(9_000), list: Array<number>(9_000).fill(1), deep, bytes: Buffer.from('abc') };
    const redacted = redactDetails(details) as { text: string; list: number[]; bytes: string };
    expect([redacted.text.length, redacted.list.length, redacted.bytes]).toEqual([2_000, 200, '[removed]']);
    expect(JSON.stringify(redacted).match(/"deep"/g)?.length).toBeLessThan(10);
  });

  it('replaces details that are too long with their field names', () => {
    const long = Array.from({ length: 200 }, () => 'x'.repeat(1_000));
    expect(redactDetails({ reason: 'import', long })).toEqual({ tooLong: true, fields: ['reason', 'long'] });
  });

  it('replaces characters that PostgreSQL cannot store', () => {
    expect(redactDetails({ text: 'a\u0000b\ud800c', 'na\u0000me': 1, smile: '\u{1f600}' })).toEqual({
      text: 'a\uFFFDb\uFFFDc',
      'na\uFFFDme': 1,
      smile: '\u{1f600}',
    });
  });
});

describe('oneLine', () => {
  it.each([
    ['Mozilla\r\nX-Injected: 1', 'Mozilla X-Injected: 1'],
    ['a\u2028b\tc\u0000d', 'a b c d'],
    ['half \ud83d', 'half \uFFFD'],
  ])('reduces %j to one storable line', (text, line) => {
    expect(oneLine(text, 512)).toBe(line);
  });

  it('truncates to the given length', () => {
    expect(oneLine('x'.repeat(900), 512)).toHaveLength(512);
  });
});
