// Pods, environment, scaling, jobs and monitoring of the Helm chart of deploy/chart.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { SERVICE_NAMES as names, SERVICES } from '../dist/fleet/services.js';
import {
  chart,
  environmentOf,
  find,
  folder,
  ofKind,
  podOf,
  podsOf,
  read,
  refusalOf,
  rendered,
  selects,
  skip,
} from './support/chart-variants.mjs';
import { findPromtool } from './support/promtool.mjs';

describe('a pod of the chart', { skip }, () => {
  it('fits the restricted pod security standard', () => {
    for (const objects of Object.values(rendered)) {
      for (const [name, { spec }] of podsOf(objects)) {
        assert.deepEqual(spec.securityContext, {
          runAsNonRoot: true,
          runAsUser: 1000,
          runAsGroup: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        assert.equal(spec.automountServiceAccountToken, false, name);
        assert.equal(spec.enableServiceLinks, false, name);
        for (const { securityContext, resources } of spec.containers) {
          assert.deepEqual(securityContext, {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          assert.ok(resources.requests.cpu && resources.requests.memory && resources.limits.memory, name);
        }
      }
    }
  });

  it('uses a service account of its own, without a token', () => {
    for (const [name, { spec }] of podsOf(rendered.production)) {
      if (name.startsWith('rmm-test')) continue;
      const account = find(rendered.production, 'ServiceAccount', spec.serviceAccountName);
      assert.equal(account.automountServiceAccountToken, false);
      assert.equal(spec.serviceAccountName, name);
    }
  });

  it('has three probes, and does not restart because of a store', () => {
    for (const deployment of ofKind(rendered.production, 'Deployment')) {
      const [{ startupProbe, readinessProbe, livenessProbe }] = podOf(deployment).spec.containers;
      assert.equal(startupProbe.httpGet.path, '/health/live');
      assert.equal(livenessProbe.httpGet.path, '/health/live');
      assert.equal(readinessProbe.httpGet.path, '/health/ready');
      assert.ok(readinessProbe.timeoutSeconds > 2, 'a check of a dependency takes up to 2 s');
    }
  });

  it('is given more time to stop than the service takes', () => {
    const source = read('libs/config/src/fleet.config.ts');
    const [, dispatcher, others] = /graceSeconds = service === 'webhook-dispatcher' \? (\d+) : (\d+)/.exec(source);
    for (const deployment of ofKind(rendered.production, 'Deployment')) {
      const { spec } = podOf(deployment);
      const { SHUTDOWN_GRACE_SECONDS: grace, SHUTDOWN_DELAY_SECONDS: delay } = environmentOf(deployment);
      const { seconds } = spec.containers[0].lifecycle.preStop.sleep;
      assert.equal(grace.value, deployment.metadata.name === 'rmm-webhook-dispatcher' ? dispatcher : others);
      assert.ok(Number(delay.value) > 0 && Number(delay.value) < Number(grace.value));
      assert.equal(spec.terminationGracePeriodSeconds, seconds + Number(grace.value) + 10);
    }
  });

  it('is spread over zones and nodes, by revision', () => {
    for (const deployment of ofKind(rendered.production, 'Deployment')) {
      const { topologySpreadConstraints: constraints } = podOf(deployment).spec;
      const labels = podOf(deployment).metadata.labels;
      assert.deepEqual(
        constraints.map(({ topologyKey }) => topologyKey),
        ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'],
      );
      for (const { labelSelector } of constraints) assert.ok(selects(labelSelector, labels));
    }
    assert.equal(podOf(find(rendered.minimal, 'Deployment', 'rmm-identity')).spec.topologySpreadConstraints, undefined);
  });

  it('has the settings of the operator', () => {
    const { spec, metadata } = podOf(find(rendered.extras, 'Deployment', 'rmm-provisioning'));
    assert.equal(spec.priorityClassName, 'high');
    assert.deepEqual(spec.imagePullSecrets, [{ name: 'registry' }]);
    assert.deepEqual([metadata.annotations, metadata.labels.zone], [{ note: 'yes' }, 'a']);
    assert.deepEqual([spec.nodeSelector, spec.tolerations.length], [{ pool: 'rmm' }, 1]);
    assert.ok(spec.containers[0].volumeMounts.some(({ mountPath }) => mountPath === '/releases'));
  });
});

describe('the environment of a service in the chart', { skip }, () => {
  const compose = parse(read('docker-compose.yml'), { merge: true });

  it('has what docker compose gives it', () => {
    const ofConfig = new Set(
      Object.keys(JSON.parse(read('deploy/chart/values.schema.json')).definitions.config.properties),
    );
    for (const name of names) {
      const given = Object.keys(environmentOf(find(rendered.defaults, 'Deployment', `rmm-${name}`)));
      const wanted = Object.keys(compose.services[name].environment).filter((each) => each !== 'FORCE_HTTPS');
      const missing = wanted.filter((each) => !given.includes(each) && !ofConfig.has(each));
      const isUsed = (each) => name !== 'partner-gateway' || !/^SECRET/.test(each); // it seals nothing
      assert.deepEqual(missing.filter(isUsed), [], name);
      assert.deepEqual(
        given.filter((each) => !(each in compose.services[name].environment)),
        ['DIRECT_WORKER_DATABASE_URL'], // docker compose has no pooler
        name,
      );
    }
  });

  it('takes secrets from an existing Secret of the service only', () => {
    for (const [variant, objects] of Object.entries(rendered)) assert.deepEqual(ofKind(objects, 'Secret'), [], variant);
    for (const name of names) {
      const environment = environmentOf(find(rendered.production, 'Deployment', `rmm-${name}`));
      for (const [variable, { valueFrom }] of Object.entries(environment)) {
        if (valueFrom)
          assert.deepEqual([valueFrom.secretKeyRef.name, valueFrom.secretKeyRef.key], [`rmm-${name}`, variable]);
      }
      for (const url of ['DATABASE_URL', 'WORKER_DATABASE_URL', 'REDIS_URL', 'NATS_URL']) {
        assert.equal(environment[url].valueFrom.secretKeyRef.optional, undefined, url);
      }
    }
    const own = chart.render({ values: { services: { identity: { existingSecret: 'vault-identity' } } } });
    assert.equal(
      environmentOf(find(own, 'Deployment', 'rmm-identity')).NATS_URL.valueFrom.secretKeyRef.name,
      'vault-identity',
    );
  });

  it('names the other services by their addresses in the cluster', () => {
    for (const name of ['credentials', 'provisioning', 'webhook-dispatcher']) {
      const { JWKS_URL } = environmentOf(find(rendered.defaults, 'Deployment', `rmm-${name}`));
      const { pathname } = new URL(compose.services[name].environment.JWKS_URL);
      assert.equal(JWKS_URL.value, `http://rmm-identity.fleet.svc:4001${pathname}`);
    }
    const { OPENAPI_SOURCES } = environmentOf(find(rendered.defaults, 'Deployment', 'rmm-partner-gateway'));
    const merged = compose.services['partner-gateway'].environment.OPENAPI_SOURCES.replace(/\s/g, '');
    assert.equal(OPENAPI_SOURCES.value.replaceAll(/rmm-([a-z-]+)\.fleet\.svc/g, '$1'), merged);
  });

  it('has values of the operator last, and large numbers in full', () => {
    const services = {
      provisioning: { config: { DEV_PUSH_MAX_STORED_MB: 100000, LOG_LEVEL: 'warn', DEV_PUSH_ENABLED: false } },
    };
    const objects = chart.render({
      values: { config: { LOG_LEVEL: 'debug', GLOBAL_RATE_LIMIT_PER_MINUTE: 1000000 }, services },
    });
    const environment = environmentOf(find(objects, 'Deployment', 'rmm-provisioning'));
    const valueOf = (name) => environment[name].value;
    assert.deepEqual(['DEV_PUSH_MAX_STORED_MB', 'DEV_PUSH_ENABLED', 'LOG_LEVEL'].map(valueOf), [
      '100000',
      'false',
      'warn',
    ]);
    assert.equal(valueOf('GLOBAL_RATE_LIMIT_PER_MINUTE'), '1000000');
    assert.equal(environmentOf(find(objects, 'Deployment', 'rmm-identity')).LOG_LEVEL.value, 'debug');
  });

  it('trusts the authority of the stores in services and jobs', () => {
    const { extras } = rendered;
    for (const object of [...ofKind(extras, 'Deployment'), ...ofKind(extras, 'Job')]) {
      assert.equal(environmentOf(object).NODE_EXTRA_CA_CERTS.value, '/etc/rmm/stores-ca/ca.crt');
      const { containers, volumes } = podOf(object).spec;
      assert.ok(containers[0].volumeMounts.some(({ mountPath }) => mountPath === '/etc/rmm/stores-ca'));
      assert.ok(volumes.some(({ secret }) => secret?.secretName === 'stores-ca'));
    }
    assert.ok(!JSON.stringify(rendered.defaults).includes('NODE_EXTRA_CA_CERTS'));
  });
});

describe('scaling in the chart', { skip }, () => {
  const scalers = (objects) => [...ofKind(objects, 'HorizontalPodAutoscaler'), ...ofKind(objects, 'ScaledObject')];

  it('has a number of replicas, or one autoscaler that decides it', () => {
    for (const objects of Object.values(rendered)) {
      for (const { metadata, spec } of ofKind(objects, 'Deployment')) {
        const own = scalers(objects).filter((each) => each.spec.scaleTargetRef.name === metadata.name);
        assert.equal(own.length + (spec.replicas === undefined ? 0 : 1), 1, metadata.name);
      }
    }
    assert.equal(scalers(rendered.defaults).length, 0);
    assert.equal(ofKind(rendered.production, 'HorizontalPodAutoscaler').length, 4);
  });

  it('adds dispatchers for what waits for capacity, never for what hung receivers hold', () => {
    const [{ spec, metadata }, ...others] = ofKind(rendered.production, 'ScaledObject');
    assert.deepEqual([metadata.name, others.length], ['rmm-webhook-dispatcher', 0]);
    assert.ok(spec.minReplicaCount >= 2);
    const queries = spec.triggers.filter(({ type }) => type === 'prometheus').map((each) => each.metadata.query);
    assert.deepEqual(queries, [
      'max(rmm_webhook_oldest_sendable_seconds{namespace="fleet"})',
      'max(rmm_webhook_events_lag{namespace="fleet"})',
    ]);
    const source = read('apps/webhook-dispatcher/src/dispatcher.metrics.ts');
    for (const query of queries) assert.ok(source.includes(`'${/rmm_\w+/.exec(query)[0]}'`), query);
    assert.ok(spec.triggers.every((each) => each.type === 'cpu' || each.metadata.ignoreNullValues === 'false'));
  });

  it('refuses KEDA without the address of Prometheus', () => {
    const values = { monitoring: { prometheusAddress: '' } };
    assert.match(refusalOf(values, ['production']), /set monitoring\.prometheusAddress/);
  });

  it('removes replicas slowly', () => {
    for (const { spec } of scalers(rendered.production)) {
      const { scaleDown } = (spec.advanced?.horizontalPodAutoscalerConfig ?? spec).behavior;
      assert.equal(scaleDown.stabilizationWindowSeconds, 300);
      assert.deepEqual(scaleDown.policies, [{ type: 'Pods', value: 1, periodSeconds: 60 }]);
    }
  });

  it('lets one pod of a service be evicted at a time', () => {
    for (const { metadata, spec } of ofKind(rendered.production, 'PodDisruptionBudget')) {
      assert.equal(spec.maxUnavailable, 1);
      assert.ok(selects(spec.selector, podOf(find(rendered.production, 'Deployment', metadata.name)).metadata.labels));
    }
    assert.equal(ofKind(rendered.production, 'PodDisruptionBudget').length, SERVICES.length);
    assert.equal(ofKind(rendered.minimal, 'PodDisruptionBudget').length, 0);
  });
});

describe('the jobs of the chart', { skip }, () => {
  const jobsOf = (objects) => ofKind(objects, 'Job').map(({ metadata }) => metadata.name);
  const isHook = ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade';

  it('migrate each schema with the login of its owner, which no service gets', () => {
    for (const { name, schema } of SERVICES) {
      const job = find(rendered.production, 'Job', `rmm-${name}-migrations`);
      const environment = environmentOf(job);
      assert.deepEqual(podOf(job).spec.containers[0].command, ['node', `apps/${name}/dist/migrate.js`]);
      assert.deepEqual(environment.MIGRATIONS_DATABASE_URL.valueFrom.secretKeyRef, {
        name: `rmm-${name}-owner`,
        key: 'MIGRATIONS_DATABASE_URL',
      });
      const logins = [environment.DATABASE_URL, environment.WORKER_DATABASE_URL].map(({ value }) => new URL(value));
      assert.deepEqual(
        logins.map(({ username }) => username),
        [`${schema}_service`, `${schema}_worker`],
      );
      assert.deepEqual(
        logins.map(({ password }) => password),
        ['', ''],
      );
      const running = environmentOf(find(rendered.production, 'Deployment', `rmm-${name}`));
      assert.ok(!('MIGRATIONS_DATABASE_URL' in running));
    }
  });

  it('set up the streams with the administrator of NATS, which nothing else gets', () => {
    const job = find(rendered.production, 'Job', 'rmm-streams');
    assert.equal(environmentOf(job).NATS_ADMIN_URL.valueFrom.secretKeyRef.name, 'rmm-nats-admin');
    assert.equal(environmentOf(job).NATS_STREAM_REPLICAS.value, '3');
    assert.ok(!('NATS_STREAM_REPLICAS' in environmentOf(find(rendered.defaults, 'Job', 'rmm-streams'))));
    const others = rendered.production.filter((each) => each !== job);
    assert.ok(!JSON.stringify(others).includes('NATS_ADMIN_URL'));
    const source = read('docker-compose.yml');
    assert.ok(source.includes(podOf(job).spec.containers[0].command[1]));
  });

  it('need nothing that is created after them when they are hooks', () => {
    const hooks = rendered.extras.filter(isHook);
    assert.deepEqual([...new Set(hooks.map(({ kind }) => kind))].sort(), ['Job', 'NetworkPolicy', 'ServiceAccount']);
    for (const job of ofKind(rendered.extras, 'Job')) {
      assert.ok(isHook(job));
      const weightOf = (each) => Number(each.metadata.annotations['helm.sh/hook-weight']);
      const account = find(hooks, 'ServiceAccount', podOf(job).spec.serviceAccountName);
      const policy = find(hooks, 'NetworkPolicy', job.metadata.name);
      assert.ok(weightOf(account) < weightOf(job) && weightOf(policy) < weightOf(job));
      assert.ok(!JSON.stringify(job).includes('configMap'));
    }
  });

  it('carry the revision when they are no hooks, and can be left out', () => {
    const expected = [...names.map((name) => `rmm-${name}-migrations-1`), 'rmm-streams-1'].sort();
    assert.deepEqual(jobsOf(rendered.jobs).sort(), expected);
    assert.deepEqual(rendered.jobs.filter(isHook), []);
    assert.deepEqual(jobsOf(rendered['no migrations']), []);
  });
});

describe('monitoring in the chart', { skip }, () => {
  it('scrapes each service, and keeps the label by which alerts name it', () => {
    const monitors = ofKind(rendered.production, 'ServiceMonitor');
    assert.equal(monitors.length, SERVICES.length);
    for (const { metadata, spec } of monitors) {
      const service = find(rendered.production, 'Service', metadata.name);
      assert.ok(selects(spec.selector, service.metadata.labels));
      const [{ port, path: metrics, honorLabels }] = spec.endpoints;
      assert.equal(port, service.spec.ports[0].name);
      assert.deepEqual([metrics, honorLabels], ['/metrics', true]);
    }
    assert.equal(ofKind(rendered.extras, 'ServiceMonitor')[0].metadata.labels.release, 'p');
  });

  it('has the alerts of deploy/alerts.yml', () => {
    const [rule] = ofKind(rendered.production, 'PrometheusRule');
    assert.deepEqual(rule.spec, parse(read('deploy/alerts.yml')));
    assert.equal(ofKind(rendered.extras, 'PrometheusRule')[0].metadata.labels.release, 'p');
  });

  it('has rules that promtool accepts', (t) => {
    const promtool = findPromtool();
    if (!promtool) return t.skip('promtool is not installed (package prometheus)');
    const [rule] = ofKind(rendered.production, 'PrometheusRule');
    const file = path.join(folder, 'rules.yml');
    fs.writeFileSync(file, stringify(rule.spec));
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'rules', file], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  });

  it('asks nothing of clusters without these operators unless it is switched on', () => {
    for (const variant of ['defaults', 'minimal']) {
      const own = rendered[variant].filter(({ apiVersion }) => /coreos|keda|gateway/.test(apiVersion));
      assert.deepEqual(own, [], variant);
    }
  });
});

describe('helm test', { skip }, () => {
  it('asks every enabled service of the release whether it is ready', () => {
    const urls = (objects) => find(objects, 'Pod', 'rmm-test-rmm').spec.containers[0].command.slice(4);
    assert.deepEqual(urls(rendered.production).length, SERVICES.length);
    assert.deepEqual(urls(rendered.webhooks), ['http://rmm-webhook-dispatcher.fleet.svc:4005']);
    assert.deepEqual(ofKind(rendered.operations, 'Pod'), []);
  });
});
