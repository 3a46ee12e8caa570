// The reference says of everything that is named but not built that it is not built.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { blockOf, blocks, routes, routingProblems, unreadVariables, withoutPadding } from './not-built.mjs';

const REFERENCE = path.resolve(import.meta.dirname, '../../docs/reference');

test('the sources of routes, scopes, actions and events are found', () => {
  assert.ok(routes().length > 100, `only ${routes().length} routes were found: the pattern is outdated`);
  for (const [page, name, text] of blocks()) assert.match(text, /`/, `${page} ${name} is empty`);
});

for (const [page, name, text] of blocks()) {
  test(`docs/reference/${page} lists what is not built of ${name} (node tools/checks/not-built.mjs writes it)`, () => {
    const written = blockOf(fs.readFileSync(path.join(REFERENCE, page), 'utf8'), name);
    assert.equal(written, withoutPadding(text));
  });
}

test('every prefix of deploy/routes.json is served, and every route is reachable through the edge', () => {
  assert.deepEqual(routingProblems(), []);
});

test('a service reads every variable of docs/reference/configuration.md, except those marked as not built', () => {
  assert.deepEqual(unreadVariables(), []);
});
