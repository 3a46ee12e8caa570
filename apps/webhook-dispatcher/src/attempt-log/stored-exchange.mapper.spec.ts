import { truncateText } from './stored-exchange.mapper.js';

describe('truncateText', () => {
  it('keeps whole characters, up to the number asked for', () => {
    expect(truncateText(Buffer.from('abcdef'), 4)).toBe('abcd');
    expect(truncateText(Buffer.from('😀😀😀'), 2)).toBe('😀😀');
    expect(truncateText(Buffer.from('ab'), 1_000)).toBe('ab');
  });

  it('leaves out NUL and replaces what is no UTF-8', () => {
    expect(truncateText(Buffer.from([0x61, 0, 0x62, 0xff, 0x63]), 10)).toBe('ab\ufffdc');
  });
});
