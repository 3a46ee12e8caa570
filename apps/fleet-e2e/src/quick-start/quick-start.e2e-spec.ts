import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../../../..');
const run = promisify(execFile);

const GUIDES = readdirSync(resolve(ROOT, 'docs/guides')).map((name) => `docs/guides/${name}`);

/** Reads the `bash quickstart` blocks of a page as one script, and the output that the page promises (`# → ...`). */
function quickStartOf(page: string): { script: string; expected: string[] } {
  const blocks = [...page.matchAll(/```bash quickstart\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  const expected = blocks.flatMap((block) => [...block.matchAll(/# → (.+)$/gm)].map((match) => match[1] ?? ''));
  return { script: blocks.join('\n'), expected };
}

describe('the quick start of', () => {
  it.each(['README.md', ...GUIDES])('%s runs line by line and prints the documented output', async (page) => {
    const { script, expected } = quickStartOf(readFileSync(resolve(ROOT, page), 'utf8'));
    expect(expected.length).toBeGreaterThan(5);

    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: ROOT, timeout: 55_000 });

    const lines = stdout.split('\n').map((line) => line.trim());
    let from = 0;
    for (const line of expected) {
      const at = lines.indexOf(line, from);
      if (at < 0) throw new Error(`the quick start did not print "${line}" after line ${from} of:\n${stdout}`);
      from = at + 1;
    }
  });
});
