import type { KeyUsageRequest } from '@rmm/contracts';
import type { RpcClient } from '@rmm/messaging';
import { type Logger, UnavailableError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { KeyUsage } from './key-usage.service.js';

let clock: FixedClock;
let sent: KeyUsageRequest[];
let failing: boolean;
let refused: string[] | undefined;
let usage: KeyUsage;

beforeEach(() => {
  clock = new FixedClock();
  sent = [];
  failing = false;
  refused = undefined;
  const call = (_contract: unknown, batch: KeyUsageRequest) => {
    sent.push(structuredClone(batch));
    if (refused?.includes(batch.uses[0].keyId)) return Promise.reject(new Error('the batch is refused'));
    return failing ? Promise.reject(new UnavailableError()) : Promise.resolve({ recorded: batch.uses.length });
  };
  const rpc = { call };
  usage = new KeyUsage(rpc as unknown as RpcClient, clock, {
    warn: () => undefined,
    error: () => undefined,
  } as unknown as Logger);
});

const use = (keyId: string, generation = 1) => usage.count({ keyId, kind: 'api_key', generation });

describe('KeyUsage', () => {
  it('adds uses up and sends them in one batch ordered by id', async () => {
    ['c', 'a', 'b', 'a'].forEach((keyId) => use(keyId));
    clock.advance(500);
    use('a');
    await usage.flush();
    expect(sent).toHaveLength(1);
    expect(sent[0].uses.map(({ keyId, count }) => [keyId, count])).toEqual([
      ['a', 3],
      ['b', 1],
      ['c', 1],
    ]);
    expect(sent[0].uses[0].lastUsedAt).toBe('2026-01-01T00:00:00.500Z');
    expect(sent[0].uses[1].lastUsedAt).toBe('2026-01-01T00:00:00.000Z');
  });

  it('counts each generation of a key separately', async () => {
    use('a');
    use('a', 2);
    use('a', 2);
    use('b');
    await usage.flush();
    expect(sent[0].uses.map(({ keyId, generation, count }) => [keyId, generation, count])).toEqual([
      ['a', 1, 1],
      ['a', 2, 2],
      ['b', 1, 1],
    ]);
  });

  it('collects the uses of each key from its first use on', async () => {
    use('a');
    clock.advance(500);
    use('b');
    use('a');
    clock.advance(400);
    await usage.flush(900);
    expect(sent.map(({ uses }) => uses.map(({ keyId, count }) => [keyId, count]))).toEqual([[['a', 2]]]);
    use('a');
    clock.advance(500);
    await usage.flush(900);
    expect(sent[1].uses.map(({ keyId }) => keyId)).toEqual(['b']);
    clock.advance(400);
    await usage.flush(900);
    expect(sent[2].uses.map(({ keyId, count }) => [keyId, count])).toEqual([['a', 1]]);
  });

  it('collects the uses of a rotated key separately and delays no other', async () => {
    use('a');
    use('b');
    clock.advance(500);
    use('a', 2);
    clock.advance(400);
    await usage.flush(900);
    expect(sent[0].uses.map(({ keyId, generation }) => [keyId, generation])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('sends nothing without uses', async () => {
    await usage.flush();
    expect(sent).toEqual([]);
  });

  it('repeats a failed batch unchanged before newer ones', async () => {
    failing = true;
    use('a');
    await usage.flush();
    use('a');
    await usage.flush();
    expect(sent[1]).toEqual(sent[0]);
    failing = false;
    await usage.flush();
    await usage.flush();
    expect(sent.slice(2).map(({ uses }) => uses[0].count)).toEqual([1, 1]);
    expect(sent[2].batchId).toBe(sent[0].batchId);
    expect(sent[3].batchId).not.toBe(sent[0].batchId);
  });

  it('drops a batch that is refused ten times, so that later ones are sent', async () => {
    refused = ['a'];
    use('a');
    for (let attempt = 0; attempt < 9; attempt++) await usage.flush();
    use('b');
    await usage.flush();
    await usage.flush();
    expect(sent.map(({ uses }) => uses[0].keyId)).toEqual([...Array<string>(10).fill('a'), 'b']);
  });

  it('keeps a batch for as long as credentials is unavailable', async () => {
    failing = true;
    use('a');
    for (let attempt = 0; attempt < 30; attempt++) await usage.flush();
    expect(new Set(sent.map(({ batchId }) => batchId)).size).toBe(1);
  });

  it('sends batches of a thousand keys', async () => {
    for (let i = 0; i < 2_500; i++) use(String(i).padStart(5, '0'));
    await usage.flush();
    expect(sent.map(({ uses }) => uses.length)).toEqual([1_000, 1_000, 500]);
  });

  it('sends the remaining uses on shutdown', async () => {
    use('a');
    await usage.beforeApplicationShutdown();
    expect(sent).toHaveLength(1);
  });
});
