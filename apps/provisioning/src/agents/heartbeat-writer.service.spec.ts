import { Logger, UnavailableError } from '@rmm/service-kit';
import type { AgentHeartbeat, AgentsRepository } from './agents.repository.js';
import { HeartbeatWriter } from './heartbeat-writer.service.js';

const heartbeatOf = (deviceId: string, metrics: string | null = null): AgentHeartbeat => ({
  deviceId,
  orgId: 'o',
  agentVersion: null,
  osVersion: null,
  metrics,
});

const STORED = { hasCommands: false };

describe('HeartbeatWriter', () => {
  let written: AgentHeartbeat[][];
  /** Resolves when the repository may end; a set waits for it. */
  let gate: Promise<void>;
  let fail: Error | null;
  const warn = jest.fn();
  let writer: HeartbeatWriter;

  /** Devices whose id starts with `x` change their status, so that they are not stored; commands wait for those with `c`. */
  const storeUnchanged: AgentsRepository['storeUnchanged'] = async (heartbeats) => {
    written.push([...heartbeats]);
    await gate;
    if (fail) throw fail;
    const ids = heartbeats.map(({ deviceId }) => deviceId).filter((id) => !id.startsWith('x'));
    return new Map(ids.map((id) => [id, id.startsWith('c')]));
  };

  beforeEach(() => {
    written = [];
    gate = Promise.resolve();
    fail = null;
    warn.mockClear();
    writer = new HeartbeatWriter({ storeUnchanged } as AgentsRepository, { warn } as unknown as Logger);
  });

  /** Returns a function that opens the gate. */
  const closeGate = (): (() => void) => {
    let open = () => undefined as void;
    gate = new Promise((resolve) => (open = resolve));
    return () => open();
  };
  const idsOf = (set: readonly AgentHeartbeat[]) => set.map(({ deviceId }) => deviceId);
  const untilWritten = async (sets: number) => {
    while (written.length < sets) await new Promise((resolve) => setImmediate(resolve));
  };

  it('writes heartbeats that arrive together as one set and returns which are stored', async () => {
    const results = await Promise.all(['a', 'c', 'x'].map((id) => writer.storeUnchanged(heartbeatOf(id))));
    expect(results).toEqual([{ hasCommands: false }, { hasCommands: true }, null]);
    expect(written.map(idsOf)).toEqual([['a', 'c', 'x']]);
  });

  it('writes one set at a time, and what arrives meanwhile as the next one', async () => {
    const release = closeGate();
    const first = writer.storeUnchanged(heartbeatOf('a'));
    await untilWritten(1);
    const others = ['b', 'd'].map((id) => writer.storeUnchanged(heartbeatOf(id)));
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toHaveLength(1);
    release();
    expect(await Promise.all([first, ...others])).toEqual([STORED, STORED, STORED]);
    expect(written.map(idsOf)).toEqual([['a'], ['b', 'd']]);
  });

  it('limits the size of a set', async () => {
    await Promise.all(Array.from({ length: 600 }, (_, n) => writer.storeUnchanged(heartbeatOf(`d${n}`))));
    expect(written.map(({ length }) => length)).toEqual([250, 250, 100]);
  });

  it('stores the later of two heartbeats of one device and responds to both', async () => {
    const [earlier, later] = ['1', '2'].map((metrics) => writer.storeUnchanged(heartbeatOf('a', metrics)));
    expect(await Promise.all([earlier, later])).toEqual([STORED, STORED]);
    expect(written).toEqual([[heartbeatOf('a', '2')]]);
  });

  it('fails with the error of an outage and writes the next set', async () => {
    fail = new UnavailableError();
    await expect(writer.storeUnchanged(heartbeatOf('a'))).rejects.toThrow(UnavailableError);
    fail = null;
    expect(await writer.storeUnchanged(heartbeatOf('a'))).toEqual(STORED);
  });

  it('leaves each heartbeat to the caller when the set cannot be stored', async () => {
    fail = new Error('invalid input syntax');
    const results = await Promise.all(['a', 'b'].map((id) => writer.storeUnchanged(heartbeatOf(id))));
    expect(results).toEqual([null, null]);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it('refuses heartbeats beyond 10,000 waiting ones', async () => {
    const release = closeGate();
    const all = [writer.storeUnchanged(heartbeatOf('first'))];
    await untilWritten(1);
    for (let n = 0; n < 10_000; n += 1) all.push(writer.storeUnchanged(heartbeatOf(`d${n}`)));
    expect(() => writer.storeUnchanged(heartbeatOf('late'))).toThrow(UnavailableError);
    release();
    expect((await Promise.all(all)).every(Boolean)).toBe(true);
  });
});
