// The metrics that the sources declare, and the expressions that use them.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import prometheus from 'prom-client';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const FILES = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', 'apps/*/src/*.ts', 'libs/*/src/*.ts'];
/** Labels that Prometheus or the registry adds to every series. */
const COMMON_LABELS = ['service', 'instance', 'job'];
/** Labels whose values are no words of the sources. */
const OPEN_LABELS = ['status', 'route', 'method', 'instance', 'job', 'version', 'node', 'service'];

export const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

const sources = () =>
  execFileSync('git', FILES, { cwd: ROOT })
    .toString()
    .split('\0')
    .filter((file) => file && !/(\.|-)spec\.ts$/.test(file) && fs.existsSync(path.join(ROOT, file)))
    .map(read);

/** Returns the metrics of the sources and of the process, by name: `{ kind, labels }`. */
export function declaredMetrics() {
  const metrics = new Map();
  for (const text of sources()) {
    const names = [...text.matchAll(/'(rmm_[a-z0-9_]+)'/g)];
    for (const [at, { 1: name, index }] of names.entries()) {
      const kind = /(counter|gauge|histogram)\((?:\s|\{|name:)*$/.exec(text.slice(0, index))?.[1];
      if (kind === undefined) continue; // a name of something else
      const declaration = text.slice(index, names[at + 1]?.index);
      const labels = /labelNames: \[([^\]]*)\]/.exec(declaration)?.[1] ?? '';
      metrics.set(name, { kind, labels: [...labels.matchAll(/'(\w+)'/g)].map(([, label]) => label) });
    }
  }
  return metrics;
}

/** Returns the names of the metrics that prom-client has of every process. */
export function processMetrics() {
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  registry.clear();
  return new Set(names);
}

/** Returns every word that the sources quote: the values of labels are among them. */
export function quotedWords() {
  return new Set(
    sources().flatMap((text) =>
      [...text.matchAll(/'([a-z0-9_.-]+)'|(?:^|[{,\s])([a-z_]+):/gm)].map(([, quoted, key]) => quoted ?? key),
    ),
  );
}

/** Returns the metric of a series name; those of a histogram end in a suffix. */
function seriesOf(metrics, name) {
  const plain = metrics.get(name);
  if (plain && plain.kind !== 'histogram') return plain;
  const [, base, suffix] = /^(.+)_(bucket|count|sum)$/.exec(name) ?? [];
  const histogram = metrics.get(base);
  if (histogram?.kind !== 'histogram') return undefined;
  return { ...histogram, labels: suffix === 'bucket' ? [...histogram.labels, 'le'] : histogram.labels };
}

/**
 * Returns what is wrong with an expression: unknown metrics, labels and label values.
 * @param known  `{ metrics, process, words, records }`
 */
export function problemsOf(expr, { metrics, process, words, records }) {
  const problems = [];
  const used = new Set(COMMON_LABELS);
  const series = [...expr.matchAll(/\b((?:rmm|process|nodejs|slo)[a-z0-9_:]+)(?:\{([^}]*)\})?/g)];
  if (series.length === 0) problems.push('names no metric');
  for (const [, name, matchers = ''] of series) {
    if (name.includes(':')) {
      if (!records.has(name)) problems.push(`no rule records ${name}`);
      used.add('class');
      continue;
    }
    if (process.has(name)) continue;
    const metric = seriesOf(metrics, name);
    if (!metric) {
      problems.push(`no metric ${name}`);
      continue;
    }
    const labels = [...metric.labels, ...COMMON_LABELS];
    labels.forEach((label) => used.add(label));
    for (const [, label, selected] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)) {
      if (!labels.includes(label)) problems.push(`${name} has no label ${label}`);
      if (OPEN_LABELS.includes(label) || selected.startsWith('$')) continue;
      const values = label === 'le' ? [] : selected.split('|');
      problems.push(...values.filter((value) => !words.has(value)).map((value) => `no ${label} "${value}" of ${name}`));
      if (label === 'le' && !bucketsOf(name).includes(selected)) problems.push(`${name} has no bucket ${selected}`);
    }
  }
  for (const [, labels] of expr.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)) {
    const missing = labels
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label && !used.has(label));
    problems.push(...missing.map((label) => `no metric of the expression has the label ${label}`));
  }
  return problems;
}

/** Returns the bounds of a histogram as Prometheus writes them. */
function bucketsOf(series) {
  const name = series.replace(/_bucket$/, '');
  const text = sources().find((one) => one.includes(`'${name}'`)) ?? '';
  const inline = /buckets: (?:\[([^\]]*)\]|(\w+))/.exec(text.slice(text.indexOf(`'${name}'`)));
  const listed = inline?.[1] ?? new RegExp(`${inline?.[2]} = \\[([^\\]]*)\\]`).exec(text)?.[1] ?? '';
  return [...listed.split(',').map((bound) => String(Number(bound.trim()))), '+Inf'];
}
