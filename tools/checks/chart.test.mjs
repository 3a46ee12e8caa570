// The Helm chart of deploy/chart: what it renders for every switch is valid and strictly typed; its values.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { SERVICE_NAMES as names, SERVICES } from '../dist/fleet/services.js';
import {
  chart,
  environmentOf,
  exposed,
  find,
  ofKind,
  podOf,
  read,
  refusalOf,
  rendered,
  skip,
  teamOf,
  TEAMS,
} from './support/chart-variants.mjs';
import { CHART, OPERATOR_VALUES } from './support/chart.mjs';

describe('the files of the chart', () => {
  const schema = JSON.parse(read('deploy/chart/values.schema.json'));

  it('have a schema of values without references to other files', () => {
    const references = [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target);
    assert.ok(references.length > 10);
    for (const target of references) assert.match(target, /^#\/definitions\/\w+$/);
  });

  it('list as values every variable of .env.example, except secrets and what the chart sets itself', () => {
    const example = read('.env.example').split('# --- docker compose only')[0];
    const variables = [...example.matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name);
    const { defaults, services } = parse(read('deploy/chart/values.yaml'));
    const secrets = [defaults, ...Object.values(services)].flatMap((each) => [
      ...(each.requiredSecrets ?? []),
      ...(each.optionalSecrets ?? []),
    ]);
    const own = [
      'PORT',
      'BIND_ADDRESS',
      'SHUTDOWN_GRACE_SECONDS',
      'SHUTDOWN_DELAY_SECONDS',
      'MIGRATIONS_DATABASE_URL',
      'FORCE_HTTPS',
    ];
    const listed = Object.keys(schema.definitions.config.properties);
    assert.deepEqual([...new Set([...listed, ...secrets, ...own])].sort(), [...new Set(variables)].sort());
    assert.deepEqual(
      listed.filter((name) => secrets.includes(name)),
      [],
    );
  });

  it('contain the routes and the alerts of deploy (cp deploy/alerts.yml deploy/routes.json deploy/chart/files/)', () => {
    for (const file of ['alerts.yml', 'routes.json']) {
      assert.equal(read(`deploy/chart/files/${file}`), read(`deploy/${file}`), file);
    }
  });
});

describe('the chart', { skip }, () => {
  it('passes helm lint --strict with every profile', () => {
    const profiles = fs.readdirSync(path.join(CHART, 'profiles')).map((file) => path.basename(file, '.yaml'));
    assert.deepEqual(
      profiles.sort(),
      ['minimal', 'production', ...[...TEAMS, 'operations'].map((team) => `team-${team}`)].sort(),
    );
    assert.equal(chart.lint([], {}).status, 0, 'without any values');
    for (const profile of [undefined, ...profiles]) {
      const { status, output } = chart.lint(profile ? [profile] : []);
      assert.equal(status, 0, `${profile}: ${output}`);
    }
  });

  it('renders objects that the schemas of the API accept', async () => {
    for (const [name, objects] of Object.entries(rendered)) assert.deepEqual(await chart.validate(objects), [], name);
    const wrong = structuredClone(find(rendered.production, 'Deployment', 'rmm-identity'));
    wrong.spec.revisionHistoryLimit = '3';
    assert.equal((await chart.validate([wrong])).length, 1);
  });

  it('renders no field that the API does not have', async () => {
    assert.equal(await chart.compile(Object.values(rendered).flat()), '');
  });

  it('renders every object once, in the namespace of the release', () => {
    for (const [variant, objects] of Object.entries(rendered)) {
      const ids = objects.map(({ kind, metadata }) => `${metadata.namespace}/${kind}/${metadata.name}`);
      assert.equal(new Set(ids).size, ids.length, variant);
      assert.ok(
        ids.every((id) => id.startsWith('fleet/')),
        variant,
      );
    }
  });

  it('has the five services with their ports', () => {
    for (const { name, port } of SERVICES) {
      const [only] = find(rendered.defaults, 'Service', `rmm-${name}`).spec.ports;
      assert.equal(only.port, port, name);
      const deployment = find(rendered.defaults, 'Deployment', `rmm-${name}`);
      const [container] = podOf(deployment).spec.containers;
      assert.equal(container.image, `registry.example/rmm/${name}:1.2.3`);
      assert.equal(container.ports[0].containerPort, port);
      assert.equal(environmentOf(deployment).PORT.value, String(port));
    }
    assert.equal(ofKind(rendered.defaults, 'Deployment').length, SERVICES.length);
  });

  it('pins an image by its digest, or a tag of one service', () => {
    const imageDigest = `sha256:${'a'.repeat(64)}`;
    const services = { identity: { imageDigest }, credentials: { imageTag: '9' } };
    const objects = chart.render({ values: { services } });
    const images = ofKind(objects, 'Deployment').map((each) => podOf(each).spec.containers[0].image);
    assert.ok(images.includes(`registry.example/rmm/identity@${imageDigest}`));
    assert.ok(images.includes('registry.example/rmm/credentials:9'));
    const migrations = podOf(find(objects, 'Job', 'rmm-credentials-migrations'));
    assert.equal(migrations.spec.containers[0].image, 'registry.example/rmm/credentials:9');
  });
});

describe('the values of the chart', { skip }, () => {
  it('refuse misspelled names, at every level', () => {
    assert.match(refusalOf({ defaults: { replica: 3 } }), /replica/);
    assert.match(refusalOf({ config: { PUBLIC_API_URI: 'https://a.example' } }), /PUBLIC_API_URI/);
    assert.match(refusalOf({ services: { identity: { shutdown: { grace: 3 } } } }), /grace/);
    assert.match(refusalOf({ services: { reports: { port: 4006 } } }), /reports/);
  });

  it('refuse secrets as plain values, and the owner of a schema for a running service', () => {
    assert.match(refusalOf({ config: { REDIS_URL: 'redis://:p@redis' } }), /REDIS_URL/);
    assert.ok(refusalOf({ defaults: { optionalSecrets: ['MIGRATIONS_DATABASE_URL'] } }));
  });

  it('refuse a redirect to https between the services', () => {
    assert.match(refusalOf({ config: { FORCE_HTTPS: 'true' } }), /FORCE_HTTPS/);
  });

  it('are refused in production without the addresses that the services need', () => {
    for (const name of Object.keys(OPERATOR_VALUES.config)) {
      assert.match(refusalOf({ config: { [name]: '' } }), new RegExp(`config.${name} is needed`));
    }
    assert.equal(chart.tryRender({ values: { config: { NODE_ENV: 'development', PUBLIC_APP_URL: '' } } }).error, null);
  });

  it('of a service win over the defaults, also when they are false or 0', () => {
    const identity = {
      pdb: { enabled: false },
      internet: false,
      shutdown: { delaySeconds: 0 },
      topologySpread: { enabled: false },
    };
    const objects = chart.render({ values: { services: { identity } } });
    const environment = environmentOf(find(objects, 'Deployment', 'rmm-identity'));
    assert.equal(environment.SHUTDOWN_DELAY_SECONDS.value, '0');
    assert.equal(environment.SHUTDOWN_GRACE_SECONDS.value, '20');
    assert.ok(
      !objects.some(({ kind, metadata }) => kind === 'PodDisruptionBudget' && metadata.name === 'rmm-identity'),
    );
    assert.equal(podOf(find(objects, 'Deployment', 'rmm-identity')).spec.topologySpreadConstraints, undefined);
  });
});

describe('the profiles of the chart', { skip }, () => {
  it('minimal runs one replica of each service', () => {
    assert.deepEqual(
      ofKind(rendered.minimal, 'Deployment').map(({ spec }) => spec.replicas),
      names.map(() => 1),
    );
  });

  it('of the teams install one service each, and together what one release installs', () => {
    const teams = [...TEAMS, 'operations'].map((team) => rendered[team]);
    const owners = [...read('CODEOWNERS').matchAll(/^\/apps\/(\S+)\/ +@rmm\/team-(\S+)$/gm)];
    assert.equal(owners.length, TEAMS.length);
    for (const [, service, team] of owners) {
      const deployments = ofKind(rendered[team], 'Deployment').map(({ metadata }) => metadata.name);
      assert.deepEqual(deployments, [`rmm-${service}`], team);
    }
    assert.equal(ofKind(teams.at(-1), 'Deployment').length, 0);
    const whole = chart.render({ profiles: ['production'], values: exposed('ingress') });
    const isTest = ({ metadata }) => metadata.name.startsWith('rmm-test');
    const textsOf = (objects) =>
      objects
        .filter((each) => !isTest(each))
        .map((each) => JSON.stringify(each))
        .sort();
    assert.deepEqual(textsOf(teams.flat()), textsOf(whole));
  });

  it('of the teams share no object, whatever their releases are called', () => {
    const releases = [...TEAMS, 'operations'].map((team) =>
      chart.render({ ...teamOf(team), release: `fleet-${team}` }),
    );
    const ids = releases.flat().map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    assert.deepEqual(
      ids.filter((id, i) => ids.indexOf(id) !== i),
      [],
    );
    const [identity] = ofKind(releases[0], 'Deployment');
    assert.deepEqual(identity.spec, find(rendered.production, 'Deployment', 'rmm-identity').spec);
  });
});
