import type { UserCaller } from '@rmm/access';
import type { TenantDatabase } from '@rmm/persistence';
import type { ImportRunRowsRepository, StagedRow } from './import-run-rows.repository.js';
import type { LeasedRun } from './import-runs.repository.js';
import { RunChunksService } from './run-chunks.service.js';

const CALLER = {} as UserCaller;

describe('RunChunksService', () => {
  let asked: number[];
  let failures: number;
  let run: LeasedRun;
  let chunks: RunChunksService;

  const rowAt = (position: number) => ({ index: position, position, cells: [`Customer ${position}`] }) as StagedRow;

  beforeEach(() => {
    [asked, failures] = [[], 0];
    const tenants = {
      transaction: (_: unknown, work: (tx: object) => unknown) => work({}),
    } as unknown as TenantDatabase;
    const rows = {
      listChunk: (_: unknown, __: unknown, after: number) => {
        asked.push(after);
        if (failures-- > 0) return Promise.reject(new Error('connection lost'));
        return Promise.resolve([0, 1, 2].filter((position) => position === after + 1).map(rowAt));
      },
    } as unknown as ImportRunRowsRepository;
    chunks = new RunChunksService(tenants, rows);
    run = {
      ...{ id: 'r-1', partnerId: 'p-1', progress: { position: -1 } },
    } as LeasedRun;
  });

  const readNext = (of = run) =>
    chunks.readNext(CALLER, of, (rows) => Promise.resolve(rows.map(({ cells }) => cells[0])));
  const moveTo = (position: number) => Object.assign(run, { progress: { position } });

  it('reads the next chunk before it is asked for, and each one once', async () => {
    expect(await readNext()).toMatchObject({ stored: [{ index: 0 }], read: ['Customer 0'], last: 0 });
    expect(asked).toEqual([-1, 0]);
    moveTo(0);
    expect(await readNext()).toMatchObject({ stored: [{ index: 1 }], last: 1 });
    moveTo(1);
    expect(await readNext()).toMatchObject({ last: 2 });
    moveTo(2);
    expect(await readNext()).toEqual({ stored: [], read: [], last: null });
    expect(asked).toEqual([-1, 0, 1, 2]);
  });

  it('reads a chunk again when it could not be read ahead', async () => {
    await readNext();
    moveTo(0);
    failures = 1;
    await readNext();
    moveTo(1);
    expect(await readNext()).toMatchObject({ last: 2 });
    expect(asked).toEqual([-1, 0, 1, 1, 2]);
  });

  it('reports that a chunk cannot be read when it is asked for', async () => {
    failures = 1;
    await expect(readNext()).rejects.toThrow('connection lost');
  });

  it('reads from the position of the run, whatever was read ahead', async () => {
    await readNext();
    moveTo(1);
    expect(await readNext()).toMatchObject({ stored: [{ index: 2 }] });
  });

  it('keeps nothing for another lease of the run', async () => {
    await readNext();
    expect(await readNext({ ...run })).toMatchObject({ last: 0 });
    expect(asked).toEqual([-1, 0, -1, 0]);
  });
});
