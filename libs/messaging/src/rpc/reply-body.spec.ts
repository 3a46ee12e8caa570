import { setImmediate as nextIteration } from 'node:timers/promises';
import { decodeReply, encodeReply } from './reply-body.js';
import type { RpcReplyBody } from './rpc-wire.js';

const itemsOf = (count: number) => Array.from({ length: count }, (_, n) => ({ n, text: `grüß\n"${n}",` }));
const bytesOf = async (body: RpcReplyBody) => Buffer.from((await encodeReply(body)) as Uint8Array);

describe('replies', () => {
  it.each<[string, RpcReplyBody]>([
    ['no value', {}],
    ['an error', { error: { kind: 'not_found', code: 'not_found' } as never }],
    ['null', { value: null }],
    ['a short list', { value: { items: itemsOf(3), next: null } }],
    ['a list alone', { value: itemsOf(200) }],
    ['a long list', { value: { items: itemsOf(500), next: 'a', empty: [] } }],
    ['a long list after others', { value: { ids: ['a'], items: itemsOf(100) } }],
    ['two long lists', { value: { items: itemsOf(150), others: itemsOf(151), 7: 'number' } }],
    ['a long list with a number as its name', { value: { 5: itemsOf(100), next: 'a' } }],
    ['lists in a long list', { value: { items: Array.from({ length: 100 }, () => [[], ['a,']]) } }],
    ['a list of nothing', { value: { items: Array.from({ length: 100 }, () => null) } }],
    ['megabytes', { value: { items: [...itemsOf(100), 'x'.repeat(2_000_000), '漢'.repeat(40_000)] } }],
  ])('have %s after they were sent', async (_what, body) => {
    const sent = await bytesOf(body);
    expect(await decodeReply(sent)).toEqual(body);
    expect(JSON.parse(sent.toString())).toEqual(body); // for a service of another version
  });

  it('are read from JSON on one line, in a part of a larger buffer', async () => {
    const body = { value: { items: itemsOf(200) } };
    const text = `${'é'.repeat(5)}${JSON.stringify(body)}`;
    expect(await decodeReply(Buffer.from(text).subarray(10))).toEqual(body);
  });

  it('have null for what JSON has no text for, as ever', async () => {
    const items = Array.from({ length: 100 }, () => undefined);
    expect(await decodeReply(await bytesOf({ value: { items } }))).toEqual({ value: { items: items.map(() => null) } });
  });

  it('with a long list let other work run on both sides', async () => {
    const body = { value: { items: Array.from({ length: 2_000 }, (_, n) => ({ n, text: 'x'.repeat(5_000) })) } };
    const iterationsDuring = async (work: Promise<unknown>) => {
      let [iterations, hasEnded] = [0, false];
      const ended = work.finally(() => (hasEnded = true));
      while (!hasEnded) {
        await nextIteration();
        iterations += 1;
      }
      await ended;
      return iterations;
    };
    const encoding = bytesOf(body);
    expect(await iterationsDuring(encoding)).toBeGreaterThan(1);
    expect(await iterationsDuring(decodeReply(await encoding))).toBeGreaterThan(1);
  });

  it('that are not JSON cannot be read', async () => {
    await expect(decodeReply(Buffer.from('{"value":'))).rejects.toThrow(SyntaxError);
    await expect(decodeReply(Buffer.from('{"value":{"items":[\n{,\n]}}'))).rejects.toThrow(SyntaxError);
  });
});
