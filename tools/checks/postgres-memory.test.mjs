import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { ProcessGroup } from '../dist/processes/process-group.js';
import { withPostgres } from '../dist/stores/clients.js';
import { startPostgres } from '../dist/stores/postgres.js';

const STATEMENTS = 20;
/** Builds a text of 1 MB, in memory of its own size. */
const LARGE = `SELECT length(string_agg(repeat('x', 1000), '')) FROM generate_series(1, 1000)`;
/** The field `minflt` of `/proc/<pid>/stat`, counted from the one after the name of the process. */
const MINOR_FAULTS = 7;

const hasGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined;

describe('a private PostgreSQL', { skip: !hasGlibc && 'the variables are those of glibc' }, () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-memory-'));
  const group = new ProcessGroup();

  after(async () => {
    await group.release();
    fs.rmSync(dir, { recursive: true, force: true });
  });

  it('keeps the memory of a statement for the next one', async () => {
    const context = { dir, group, say: () => {}, onChange: () => {}, ports: {}, isThrowaway: true };
    const { url } = await startPostgres(context);
    await withPostgres(url, async (client) => {
      const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
      await client.query(LARGE);
      await client.query(LARGE);
      const before = minorFaultsOf(rows[0].pid);
      for (let n = 0; n < STATEMENTS; n += 1) await client.query(LARGE);
      const faults = minorFaultsOf(rows[0].pid) - before;
      assert.ok(faults < STATEMENTS * 10, `${faults} page faults in ${STATEMENTS} statements`);
    });
  });
});

function minorFaultsOf(pid) {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[MINOR_FAULTS]);
}
