import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../../../..');
const JEST = resolve(ROOT, 'node_modules/jest/bin/jest.js');

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { assertionResults: { ancestorTitles: string[]; status: string }[] }[];
}

describe('the browser specs without Chromium', () => {
  it('are skipped, and each name says why', async () => {
    expect(existsSync(JEST)).toBe(true);
    const config = resolve(ROOT, 'apps/fleet-e2e/jest.config.mjs');
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['--experimental-vm-modules', JEST, '-c', config, '--json', '--testPathPatterns', 'account-pages/factors'],
      { cwd: ROOT, env: { ...process.env, CHROMIUM_PATH: 'none' }, maxBuffer: 8_000_000 },
    );
    const report = JSON.parse(stdout) as Report;
    const specs = report.testResults.flatMap(({ assertionResults }) => assertionResults);
    expect(specs.length).toBeGreaterThan(0);
    expect(specs.filter(({ status }) => status !== 'pending')).toEqual([]);
    for (const { ancestorTitles } of specs) {
      expect(ancestorTitles[0]).toMatch(/ \(skipped: Chromium is not installed\)$/);
    }
    expect([report.numPassedTests, report.numFailedTests]).toEqual([0, 0]);
    expect(stderr).toContain('skipped, Chromium is not installed (see docs/CONTRIBUTING.md)');
  });
});
