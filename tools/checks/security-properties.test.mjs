// Each property of docs/reference/security-properties.md names a spec that exists and one of its tests.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const PAGE = 'docs/reference/security-properties.md';

/** Rows of the tables: property, path of the spec, title of the test. */
const rows = () =>
  fs
    .readFileSync(path.join(ROOT, PAGE), 'utf8')
    .split('\n')
    .filter((line) => /^\| (?!Property|-)/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );

function problemOf([property, spec, title]) {
  const file = /^`(.+)`$/.exec(spec ?? '')?.[1];
  if (!property || !file || !title) return `${property}: the row needs a property, a spec in backticks and a test`;
  if (!fs.existsSync(path.join(ROOT, file))) return `${property}: ${file} does not exist`;
  const text = fs.readFileSync(path.join(ROOT, file), 'utf8').replaceAll("\\'", "'");
  return text.includes(title) ? null : `${property}: ${file} has no test "${title}"`;
}

test('every security property is shown by a test', () => {
  const found = rows();
  assert.ok(found.length > 40, `only ${found.length} properties were found: the format changed`);
  assert.deepEqual(found.map(problemOf).filter(Boolean), []);
});
