// deploy/dashboards is what tools/dashboards.mjs writes, and its queries use metrics and labels that exist.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { dashboards } from '../dashboards.mjs';
import { declaredMetrics, problemsOf, processMetrics, quotedWords, read } from './support/metrics.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');
const FOLDER = 'deploy/dashboards';
const files = fs.readdirSync(path.join(ROOT, FOLDER)).sort();
const stored = files.map((file) => ({ file, dashboard: JSON.parse(read(`${FOLDER}/${file}`)) }));

test('the stored dashboards are those of tools/dashboards.mjs', () => {
  const expected = dashboards();
  assert.deepEqual(files, [...expected.keys()].sort());
  for (const { file, dashboard } of stored)
    assert.deepEqual(dashboard, expected.get(file), `run node tools/dashboards.mjs: ${file}`);
});

test('there is one dashboard per service of the edge, and one of the fleet, with a uid of its own', () => {
  const { routes } = JSON.parse(read('deploy/routes.json'));
  const services = [...new Set(routes.map(({ service }) => service))].map((service) => `${service}.json`);
  assert.deepEqual(files, [...services, 'fleet.json'].sort());
  assert.equal(new Set(stored.map(({ dashboard }) => dashboard.uid)).size, files.length);
});

test('every query uses metrics, labels and values that exist, and every panel has a position of its own', () => {
  const records = new Set(
    parse(read('deploy/alerts.yml')).groups.flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? [])),
  );
  const known = { metrics: declaredMetrics(), process: processMetrics(), words: quotedWords(), records };
  for (const { file, dashboard } of stored) {
    const positions = dashboard.panels.map(({ gridPos: { x, y } }) => `${x}/${y}`);
    assert.equal(new Set(positions).size, dashboard.panels.length, file);
    for (const { title, targets } of dashboard.panels) {
      assert.ok(targets.length > 0, `${file}: ${title}`);
      for (const { expr } of targets) assert.deepEqual(problemsOf(expr, known), [], `${file}: ${title}: ${expr}`);
    }
  }
});

test('every declared metric is described in the README of a lib or service', () => {
  const readmes = ['apps', 'libs'].flatMap((folder) =>
    fs.readdirSync(path.join(ROOT, folder)).map((project) => `${folder}/${project}/README.md`),
  );
  const text = readmes
    .filter((file) => fs.existsSync(path.join(ROOT, file)))
    .map(read)
    .join('\n');
  const missing = [...declaredMetrics().keys()].filter((name) => !new RegExp(`${name}\\b`).test(text));
  assert.deepEqual(missing, []);
});
