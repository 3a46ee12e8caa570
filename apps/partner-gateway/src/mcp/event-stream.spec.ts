import { toEventStream } from './event-stream.js';

describe('toEventStream', () => {
  it('writes one event on one line, whatever the response contains', () => {
    const text = toEventStream({ jsonrpc: '2.0', id: 1, result: { text: 'two\nlines\r\n\ndata: x' } });
    expect(text.split('\n')).toEqual(['event: message', expect.stringMatching(/^data: \{.*\}$/), '', '']);
    expect(JSON.parse(text.split('\n')[1]?.slice('data: '.length) ?? '')).toMatchObject({ id: 1 });
  });
});
