import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** A guide starts up to a hundred processes, each of which takes a second on a busy machine. */
jest.setTimeout(600_000);

const ROOT = resolve(import.meta.dirname, '../../../..');
const run = promisify(execFile);

/** Their steps need a browser or an identity provider: specs in `identity` test them. */
const TESTED_ELSEWHERE = ['passkeys.md', 'scim.md', 'single-sign-on.md'];
/** They are about deployments, not about the fleet under test. */
const FOR_OPERATORS = ['backup-and-restore.md', 'capacity.md', 'key-rotation.md', 'kubernetes.md', 'upgrade.md'];
const GUIDES = readdirSync(resolve(ROOT, 'docs/guides'))
  .filter((name) => ![...TESTED_ELSEWHERE, ...FOR_OPERATORS].includes(name))
  .map((name) => `docs/guides/${name}`);

/** Reads the `bash quickstart` blocks of a page as one script, and the output that the page promises (`# → ...`). */
function quickStartOf(page: string): { script: string; expected: string[] } {
  const blocks = [...page.matchAll(/```bash quickstart\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  const expected = blocks.flatMap((block) => [...block.matchAll(/# → (.+)$/gm)].map((match) => match[1] ?? ''));
  return { script: blocks.join('\n'), expected };
}

describe('the quick start of', () => {
  const dir = mkdtempSync(join(tmpdir(), 'quick-start-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  /** Returns an environment in which curl has an address of its own: more than five logins of one address are refused. */
  function environmentOf(page: string): NodeJS.ProcessEnv {
    const octet = GUIDES.indexOf(page) + 2;
    writeFileSync(join(dir, '.curlrc'), `header = "X-Forwarded-For: 10.99.0.${octet}"\n`);
    return { ...process.env, CURL_HOME: dir };
  }

  it.each(['README.md', ...GUIDES])('%s runs line by line and prints the documented output', async (page) => {
    const { script, expected } = quickStartOf(readFileSync(resolve(ROOT, page), 'utf8'));
    expect(expected.length).toBeGreaterThan(5);

    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: ROOT,
      env: environmentOf(page),
      timeout: 540_000,
    });

    const lines = stdout.split('\n').map((line) => line.trim());
    let from = 0;
    for (const line of expected) {
      const at = lines.indexOf(line, from);
      if (at < 0) throw new Error(`the quick start did not print "${line}" after line ${from} of:\n${stdout}`);
      from = at + 1;
    }
  });
});
