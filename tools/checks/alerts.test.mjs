// deploy/alerts.yml names metrics, labels and label values that the sources have, and every alert has a page.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { declaredMetrics, problemsOf, processMetrics, quotedWords, read } from './support/metrics.mjs';
import { findPromtool } from './support/promtool.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');
const RUNBOOKS = 'docs/runbooks';
const SECTIONS = ['Meaning', 'Effect', 'Confirm', 'Act', 'Over'];

const { groups } = parse(read('deploy/alerts.yml'));
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const { tests: ruleTests } = parse(read('deploy/alerts.test.yml'));
const records = new Set(rules.flatMap(({ record }) => record ?? []));
const known = { metrics: declaredMetrics(), process: processMetrics(), words: quotedWords(), records };

test('the metrics of the sources are found with their labels', () => {
  assert.ok(known.metrics.size > 40, `only ${known.metrics.size} metrics were found: the pattern is outdated`);
  assert.deepEqual(known.metrics.get('rmm_logins_total'), { kind: 'counter', labels: ['method', 'outcome'] });
  assert.deepEqual(known.metrics.get('rmm_mail_waiting'), { kind: 'gauge', labels: [] });
  assert.equal(known.metrics.get('rmm_http_request_duration_seconds').kind, 'histogram');
});

test('an expression with an unknown metric, label, value or bucket has problems', () => {
  const cases = [
    'rmm_nothing_total > 0',
    'rmm_logins_total{tenant="a"} > 0',
    'rmm_logins_total{outcome="no_such_outcome"} > 0',
    'sum by (tenant) (rmm_logins_total) > 0',
    'rmm_http_request_duration_seconds > 1',
    'rate(rmm_http_request_duration_seconds_bucket{le="0.3"}[5m])',
    'slo:nothing:ratio > 1',
    'vector(1)',
  ];
  for (const expr of cases) assert.equal(problemsOf(expr, known).length, 1, expr);
  assert.deepEqual(problemsOf('sum by (class, le) (rmm_http_request_duration_seconds_bucket{le="0.5"})', known), []);
});

test('every metric, label and value of a rule exists', () => {
  const found = rules.flatMap(({ alert, record, expr }) =>
    problemsOf(expr, known).map((one) => `${alert ?? record}: ${one}`),
  );
  assert.deepEqual(found, []);
});

test('every recorded series is used, and every window of an objective is recorded', () => {
  const used = new Set(alerts.flatMap(({ expr }) => [...expr.matchAll(/slo:[a-z0-9_:]+/g)].map(([name]) => name)));
  assert.deepEqual([...records].sort(), [...used].sort());
});

test('every alert has a name of its own, a severity, a summary and the address of its page', () => {
  assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length);
  for (const { alert, labels, annotations } of alerts) {
    assert.match(labels?.severity ?? '', /^(?:warning|critical)$/, alert);
    assert.ok(annotations?.summary, alert);
    assert.equal(annotations.runbook_url, `${RUNBOOKS}/${alert}.md`);
  }
});

test('every alert has a page, every page an alert, and the index lists them', () => {
  const pages = fs.readdirSync(path.join(ROOT, RUNBOOKS)).filter((file) => file !== 'README.md');
  assert.deepEqual(pages.sort(), alerts.map(({ alert }) => `${alert}.md`).sort());
  const index = read(`${RUNBOOKS}/README.md`);
  assert.deepEqual(
    pages.filter((page) => !index.includes(`](${page})`)),
    [],
  );
});

test('every page has its sections, and its queries use existing metrics', () => {
  for (const { alert } of alerts) {
    const page = read(`${RUNBOOKS}/${alert}.md`);
    const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    assert.deepEqual(sections, SECTIONS, alert);
    const queries = [...page.matchAll(/^```promql\n([^]*?)^```$/gm)].flatMap(([, text]) => text.trim().split('\n'));
    assert.ok(queries.length > 0, `${alert} has no query`);
    assert.deepEqual(
      queries.flatMap((query) => problemsOf(query, known)),
      [],
      alert,
    );
  }
});

test('every alert has a test in which it fires, and every test names an alert', () => {
  const cases = ruleTests.flatMap((one) => one.alert_rule_test ?? []);
  const names = alerts.map(({ alert }) => alert);
  const firing = new Set(cases.filter((one) => one.exp_alerts?.length > 0).map(({ alertname }) => alertname));
  assert.deepEqual(
    names.filter((name) => !firing.has(name)),
    [],
    'alerts without a test that expects them',
  );
  // promtool accepts a test that expects no alert of a name that does not exist.
  assert.deepEqual(
    cases.map(({ alertname }) => alertname).filter((name) => !names.includes(name)),
    [],
    'tests of unknown alerts',
  );
});

test('the tests of the rules have series that the sources declare', () => {
  const series = ruleTests.flatMap(({ input_series: input }) => input.map((one) => one.series));
  assert.deepEqual(
    series.flatMap((one) => problemsOf(one, known)),
    [],
  );
});

test('the chart has the same rules', () => {
  assert.equal(read('deploy/chart/files/alerts.yml'), read('deploy/alerts.yml'));
});

const promtool = findPromtool();
test('promtool accepts the rules and its tests pass', { skip: !promtool && 'promtool is not installed' }, () => {
  for (const args of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: path.join(ROOT, 'deploy') });
    assert.equal(status, 0, `${stdout}${stderr}`);
  }
});
