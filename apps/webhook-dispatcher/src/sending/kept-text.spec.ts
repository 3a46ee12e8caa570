import { keptText } from './kept-text.js';

describe('keptText', () => {
  it('keeps whole characters, up to the number asked for', () => {
    expect(keptText(Buffer.from('abcdef'), 4)).toBe('abcd');
    expect(keptText(Buffer.from('😀😀😀'), 2)).toBe('😀😀');
    expect(keptText(Buffer.from('ab'), 1_000)).toBe('ab');
  });

  it('leaves out NUL and replaces what is no UTF-8', () => {
    expect(keptText(Buffer.from([0x61, 0, 0x62, 0xff, 0x63]), 10)).toBe('ab\ufffdc');
  });
});
