// The reference lists every error code and every configuration variable of the sources.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const sources = () =>
  execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', 'apps/*/src/*.ts', 'libs/*/src/*.ts'],
    {
      cwd: ROOT,
    },
  )
    .toString()
    .split('\0')
    .filter((file) => file && !/(\.|-)spec\.ts$/.test(file) && fs.existsSync(path.join(ROOT, file)));

test('errors.md lists every error code', () => {
  const documented = read('docs/reference/errors.md');
  const codes = new Set(
    sources().flatMap((file) => [...read(file).matchAll(/\bcode(?:: string)? = '([a-z_]+)'/g)].map(([, code]) => code)),
  );
  assert.ok(codes.size > 80, `only ${codes.size} codes were found: the pattern is outdated`);
  assert.deepEqual([...codes].filter((code) => !new RegExp(`\\b${code}\\b`).test(documented)).sort(), []);
});

test('errors.md lists every code of @ErrorCodes', () => {
  const documented = read('docs/reference/errors.md');
  const listed = sources().flatMap((file) =>
    [...read(file).matchAll(/@ErrorCodes\(\{([^}]*)\}\)/g)].flatMap(([, codes]) => [...codes.matchAll(/'([a-z_]+)'/g)]),
  );
  const codes = new Set(listed.map(([, code]) => code));
  assert.ok(codes.size > 50, `only ${codes.size} codes were found: the pattern is outdated`);
  assert.deepEqual([...codes].filter((code) => !new RegExp(`\\b${code}\\b`).test(documented)).sort(), []);
});

test('configuration.md lists every variable of .env.example', () => {
  const documented = read('docs/reference/configuration.md');
  const [forServices] = read('.env.example').split('# --- docker compose only');
  const names = [...forServices.matchAll(/^([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
  assert.ok(names.length > 40, `only ${names.length} variables were found: the pattern is outdated`);
  assert.deepEqual(
    names.filter((name) => !documented.includes(`\`${name}\``)),
    [],
  );
});
