import { connectToFleet, readFleetStatus } from '@rmm/testing';
import { type Finding, FuzzRun } from './fuzz-run.js';
import { readApiDocument } from './operations.js';

/** `FUZZ_SEED` repeats a run, `FUZZ_SECONDS` makes it longer, `FUZZ_ONLY` names one operation. */
const SEED = process.env['FUZZ_SEED'] ?? '1';
const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 60);
const ONLY = process.env['FUZZ_ONLY'] ?? '';

jest.setTimeout((SECONDS + 600) * 1_000);

describe(`every route, with mutated requests (FUZZ_SEED=${SEED})`, () => {
  const fleet = connectToFleet();
  let run: FuzzRun;
  let before: string[];
  const pids = async () =>
    (await readFleetStatus()).services.flatMap(({ name, instances }) => instances.map(({ pid }) => `${name} ${pid}`));

  beforeAll(async () => {
    before = await pids();
    const document = await readApiDocument(fleet.baseUrl);
    run = new FuzzRun(fleet, document, { seed: SEED, seconds: SECONDS, only: ONLY });
    await run.run();
    const { requests, rounds, tenants, slow } = run;
    process.stdout.write(`fuzz: seed ${SEED}, ${requests} requests, ${rounds} rounds, ${tenants} tenants\n`);
    for (const line of slow.slice(0, 20)) process.stdout.write(`fuzz: slow: ${line.slice(0, 300)}\n`);
  });

  it('responds as the OpenAPI document says, with no status 500 and nothing internal', () => {
    expect([...run.findings.values()].map(toText).join('\n')).toBe('');
  });

  it('reaches the handlers: most operations succeed at least once', () => {
    const succeeded = (counts: Map<number, number>) => [...counts.keys()].some((status) => status < 400);
    const never = [...run.statuses].filter(([, counts]) => !succeeded(counts)).map(([operation]) => operation);
    expect(never.length < run.statuses.size / 2 ? [] : never).toEqual([]);
  });

  it('leaves every process alive', async () => {
    expect(await pids()).toEqual(before);
    expect((await fetch(`${fleet.baseUrl}/health/ready`)).status).toBe(200);
  });
});

const toText = ({ operation, problem, count, example }: Finding) =>
  `${operation}: ${problem} (${count} times)\n    ${example}`;
