import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { ROOT } from '../../dist/paths.js';
import { ChartChecks, fetchChartTools } from './chart.mjs';

export const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const tools = await fetchChartTools();
export const skip = tools.helm === null && 'there is no Helm for this system: set HELM_PATH or put helm on the PATH';
if (skip) console.log(`The chart is not rendered: ${skip}`);
export const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chart-'));
after(() => fs.rmSync(folder, { recursive: true }));
export const chart = new ChartChecks(tools, folder);

export const TEAMS = ['identity', 'credentials', 'integrations', 'provisioning', 'webhooks'];
export const exposed = (kind) => ({ exposure: { kind, host: 'rmm.example', gateway: { name: 'public' } } });
const ALL_EXTRAS = {
  image: { pullSecrets: ['registry'] },
  storesCa: { existingSecret: 'stores-ca' },
  config: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.monitoring:4318', OTEL_TRACES_SAMPLER_ARG: '0.05' },
  collector: { to: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] },
  networkPolicy: { clusterCidrs: ['203.113.0.0/16', '2a00:1450::/32'] },
  exposure: { className: 'nginx', tlsSecret: 'rmm-tls', annotations: { note: 'yes' } },
  monitoring: { serviceMonitor: { labels: { release: 'p' } }, prometheusRule: { labels: { release: 'p' } } },
  defaults: {
    priorityClassName: 'high',
    podAnnotations: { note: 'yes' },
    podLabels: { zone: 'a' },
    nodeSelector: { pool: 'rmm' },
    tolerations: [{ key: 'rmm', operator: 'Exists' }],
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    extraEgress: [{ to: [{ ipBlock: { cidr: '10.9.0.0/24' } }], ports: [{ protocol: 'TCP', port: 587 }] }],
    extraVolumes: [{ name: 'releases', persistentVolumeClaim: { claimName: 'releases' } }],
    extraVolumeMounts: [{ name: 'releases', mountPath: '/releases' }],
  },
};
/** Every profile and every switch, at least once in each position. */
const VARIANTS = {
  defaults: {},
  minimal: { profiles: ['minimal'], values: { ...exposed('ingress') } },
  production: { profiles: ['production'], values: { ...exposed('httproute') } },
  extras: { profiles: ['production'], values: mergeValues(ALL_EXTRAS, exposed('ingress')) },
  jobs: { values: { migrations: { mode: 'job' }, streams: { replicas: 3 } } },
  'no migrations': { values: { migrations: { mode: 'none' } } },
  ...Object.fromEntries(TEAMS.map((team) => [team, teamOf(team)])),
  operations: teamOf('operations'),
};
/** The objects of each variant. */
export const rendered = skip
  ? {}
  : Object.fromEntries(Object.entries(VARIANTS).map(([name, each]) => [name, chart.render(each)]));

export function teamOf(team) {
  return { profiles: ['production', `team-${team}`], values: exposed('ingress') };
}
function mergeValues(lower, upper) {
  const result = { ...lower };
  for (const [name, value] of Object.entries(upper)) {
    const isMap = (each) => typeof each === 'object' && each !== null && !Array.isArray(each);
    result[name] = isMap(value) && isMap(lower[name]) ? mergeValues(lower[name], value) : value;
  }
  return result;
}
export const ofKind = (objects, kind) => objects.filter((each) => each.kind === kind);
export const find = (objects, kind, name) => {
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name);
  assert.ok(found, `there is no ${kind} ${name}`);
  return found;
};
export const podOf = (object) => (object.kind === 'Pod' ? object : object.spec.template);
/** Names and pods of all workloads. */
export const podsOf = (objects) =>
  objects
    .filter(({ kind }) => ['Deployment', 'Job', 'Pod'].includes(kind))
    .map((each) => [each.metadata.name, podOf(each)]);
export const environmentOf = (object) =>
  Object.fromEntries(podOf(object).spec.containers[0].env.map(({ name, ...from }) => [name, from]));
export const selects = (selector, labels) =>
  Object.entries(selector?.matchLabels ?? {}).every(([name, value]) => labels[name] === value);
/** Returns the error with which Helm refuses values. */
export const refusalOf = (values, profiles) => {
  const { error } = chart.tryRender({ values, profiles });
  assert.ok(error, 'it was not refused');
  return error;
};
