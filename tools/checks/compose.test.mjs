import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { SERVICE_NAMES as serviceNames } from '../dist/fleet/services.js';
import { ROOT } from '../dist/paths.js';

const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true });
const dockerfile = read('deploy/docker/Dockerfile');
const example = new Set([...read('.env.example').matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name));

/** Without a value for these a service refuses to start. */
const NEEDED = ['PORT', 'DATABASE_URL', 'WORKER_DATABASE_URL', 'REDIS_URL', 'NATS_URL'];
const NEEDED_BY_SOME = {
  credentials: ['JWKS_URL'],
  'partner-gateway': ['OPENAPI_SOURCES'],
  provisioning: ['JWKS_URL'],
  'webhook-dispatcher': ['JWKS_URL'],
};

/** Listed for all, read by those that verify a token by identity's published keys. */
const WITHOUT_JWKS = ['identity: JWKS_URL', 'partner-gateway: JWKS_URL'];
const ONLY_CREDENTIALS = ['provisioning: ENROLLMENT_KEY_DEFAULT_TTL_MINUTES'];
/** BIND_ADDRESS: a container opens its port on all interfaces. MIGRATIONS_DATABASE_URL: for the migrations only. DIRECT_WORKER_DATABASE_URL and REDIS_CLUSTER_NODES: there is no pooler and one Redis. */
const NOT_HANDED_ON = ['BIND_ADDRESS', 'MIGRATIONS_DATABASE_URL', 'DIRECT_WORKER_DATABASE_URL', 'REDIS_CLUSTER_NODES'];
const migrationNames = serviceNames.map((name) => `${name}-migrations`);
const schemaOf = (name) => name.replaceAll('-', '_');
const prefixOf = (name) => schemaOf(name).toUpperCase();

/** The parts of .env.example, each headed by the services it is for: `# --- C credentials, P provisioning ---`. */
function sectionsOfExample() {
  const parts = read('.env.example')
    .split(/^(?=# --- )/m)
    .slice(1);
  const forServices = parts.filter((part) => !part.startsWith('# --- docker compose only'));
  return forServices.map((part) => {
    const heading = part.slice(0, part.indexOf('\n'));
    const services = heading.includes('every service')
      ? serviceNames
      : serviceNames.filter((name) => heading.includes(name));
    return { services, names: [...part.matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name) };
  });
}

describe('docker-compose.yml', () => {
  it('runs the three stores, the five services with their migrations, and the edge', () => {
    const expected = ['postgres', 'valkey', 'nats', 'streams', 'edge', ...serviceNames, ...migrationNames];
    const started = Object.keys(compose.services).filter((name) => !compose.services[name].profiles);
    assert.deepEqual(started.sort(), expected.sort());
  });

  it('starts a mail catcher, Prometheus, a collector of traces and Grafana by profile, in fixed versions', () => {
    const optional = Object.entries(compose.services).filter(([, { profiles }]) => profiles);
    assert.deepEqual(Object.fromEntries(optional.map(([name, { profiles }]) => [name, profiles])), {
      mailpit: ['mail'],
      prometheus: ['observability'],
      'otel-collector': ['observability'],
      tempo: ['observability'],
      grafana: ['observability'],
    });
    for (const [name, { image }] of optional) assert.match(image, /:v?\d+\.\d+(\.\d+)?$/, name);
  });

  it('mounts files and folders of the repository that exist', () => {
    const mounts = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes);
    const sources = mounts.map((mount) => mount.split(':')[0]).filter((source) => source.startsWith('./'));
    assert.deepEqual(
      sources.filter((source) => !fs.existsSync(path.join(ROOT, source))),
      [],
    );
  });

  it('reads the metrics of each service and evaluates the alerts', () => {
    const { rule_files: rules, scrape_configs: jobs } = parse(read('deploy/prometheus.yml'));
    const targets = jobs.map(({ job_name: job, dns_sd_configs: [{ names, type, port }] }) => [job, names, type, port]);
    assert.deepEqual(
      targets,
      serviceNames.map((name) => [name, [name], 'A', Number(compose.services[name].environment.PORT)]),
    );
    assert.deepEqual(rules, ['alerts.yml']);
    assert.ok(compose.services.prometheus.volumes.includes('./deploy/alerts.yml:/etc/prometheus/alerts.yml:ro'));
  });

  it('has a health check for everything that stays', () => {
    const without = ['streams', ...migrationNames, 'otel-collector', 'tempo']; // the images of the last two have no shell
    for (const [name, { healthcheck }] of Object.entries(compose.services)) {
      if (!without.includes(name)) assert.ok(healthcheck?.test?.length > 1, name);
    }
  });

  it('starts the services after their stores are healthy, and the streams and their schemas exist', () => {
    for (const name of serviceNames) {
      const conditions = Object.entries(compose.services[name].depends_on).map(
        ([on, { condition }]) => `${on} ${condition}`,
      );
      const expected = ['postgres service_healthy', 'valkey service_healthy', 'nats service_healthy'];
      const completed = ['streams', `${name}-migrations`].map((each) => `${each} service_completed_successfully`);
      assert.deepEqual(conditions, [...expected, ...completed], name);
    }
  });

  it('waits longer for a stopping service than the service waits for its work', () => {
    const grace = (name) => (name === 'webhook-dispatcher' ? 45 : 20);
    for (const name of serviceNames)
      assert.ok(parseInt(compose.services[name].stop_grace_period, 10) > grace(name), name);
  });

  it('has no well-known sealing key once NODE_ENV is set', () => {
    const { SECRET_ENCRYPTION_KEY: text } = compose.services.identity.environment;
    assert.match(text, /^\$\{SECRET_ENCRYPTION_KEY-\$\{NODE_ENV-development-only-/);
  });

  it('keeps .env out of git and out of images', () => {
    assert.match(read('.gitignore'), /^\.env$/m);
    assert.match(read('.dockerignore'), /^\.env$/m);
  });

  it('publishes ports on this machine only', () => {
    for (const [name, { ports = [] }] of Object.entries(compose.services)) {
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name);
    }
  });

  it('gives each service what it needs, with the logins of its own schema', () => {
    for (const name of serviceNames) {
      const { environment } = compose.services[name];
      for (const variable of [...NEEDED, ...(NEEDED_BY_SOME[name] ?? [])])
        assert.ok(environment[variable], `${name}: ${variable}`);
      const [schema, prefix] = [schemaOf(name), prefixOf(name)];
      const urlOf = (login, variable) => `postgres://${schema}_${login}:\${${variable}-fleet}@postgres:5432/rmm`;
      assert.equal(environment.DATABASE_URL, urlOf('service', `${prefix}_DB_PASSWORD`));
      assert.equal(environment.WORKER_DATABASE_URL, urlOf('worker', `${prefix}_WORKER_DB_PASSWORD`));
      assert.equal(environment.NATS_URL, `nats://${name}:\${NATS_${prefix}_PASSWORD-fleet}@nats:4222`);
    }
  });

  it('gives the owner of a schema to its migrations only, and the administrator of NATS to the streams only', () => {
    for (const [name, { environment = {} }] of Object.entries(compose.services)) {
      const values = Object.entries(environment).map(([variable, value]) => `${variable}=${value}`);
      const owner = values.filter((each) => each.startsWith('MIGRATIONS_DATABASE_URL=') || each.includes('_owner:'));
      assert.equal(owner.length, migrationNames.includes(name) ? 1 : 0, name);
      const isAdmin = values.some((each) => each.includes('NATS_ADMIN'));
      assert.equal(isAdmin, ['nats', 'streams'].includes(name), name);
    }
    for (const name of serviceNames) {
      const { command, environment, image } = compose.services[`${name}-migrations`];
      assert.deepEqual(command, ['node', `apps/${name}/dist/migrate.js`]);
      assert.equal(image, compose.services[name].image);
      assert.ok(fs.existsSync(path.join(ROOT, `apps/${name}/src/migrate.ts`)), name);
      const variable = `${prefixOf(name)}_OWNER_DB_PASSWORD`;
      const url = `postgres://${schemaOf(name)}_owner:\${${variable}-fleet}@postgres:5432/rmm`;
      assert.equal(environment.MIGRATIONS_DATABASE_URL, url);
      assert.equal(environment.DATABASE_URL, `postgres://${schemaOf(name)}_service@postgres:5432/rmm`);
      assert.equal(environment.WORKER_DATABASE_URL, `postgres://${schemaOf(name)}_worker@postgres:5432/rmm`);
    }
  });

  it('gives each login a password of its own', () => {
    const passwords = [...read('docker-compose.yml').matchAll(/(\w+):\$\{(\w+_PASSWORD)-fleet\}@/g)];
    const logins = new Map(passwords.map(([, login, variable]) => [variable, login]));
    assert.equal(
      logins.size,
      serviceNames.length * 4 + 1,
      'three of PostgreSQL and one of NATS each, and the administrator',
    );
    for (const [, login, variable] of passwords) assert.equal(logins.get(variable), login, variable);
    const { postgres, nats } = compose.services;
    for (const name of serviceNames) {
      for (const login of ['OWNER_DB', 'DB', 'WORKER_DB']) {
        const variable = `${prefixOf(name)}_${login}_PASSWORD`;
        assert.equal(postgres.environment[variable], `\${${variable}-fleet}`);
      }
      assert.equal(nats.environment[`NATS_${prefixOf(name)}_PASSWORD`], `\${NATS_${prefixOf(name)}_PASSWORD-fleet}`);
    }
  });

  it('gives each NATS login its permissions, and refuses to start NATS with an empty password', () => {
    const config = read('deploy/nats/nats.conf');
    const permissions = Object.keys(JSON.parse(read('deploy/nats/permissions.json')));
    assert.deepEqual(permissions, [...serviceNames, 'events-publisher', 'records-publisher']);
    for (const login of permissions) {
      const line = `{ user: ${login}, password: $NATS_${prefixOf(login)}_PASSWORD, permissions: $${login} }`;
      assert.ok(config.includes(line), line);
    }
    const { command, environment } = compose.services.nats;
    const names = Object.keys(environment).filter((name) => name.endsWith('_PASSWORD'));
    const listed = environment.NATS_LOGINS.split(' ').map((login) => `NATS_${login}_PASSWORD`);
    assert.deepEqual(listed.sort(), names.sort());
    const script = command.at(-1).replaceAll('$$', '$').replace('exec nats-server', 'echo started');
    const run = (env) => spawnSync('sh', ['-c', script], { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' });
    const complete = Object.fromEntries(names.map((name) => [name, 'secret']));
    assert.match(run({ NATS_LOGINS: environment.NATS_LOGINS, ...complete }).stdout, /^started/);
    const withoutOne = run({ NATS_LOGINS: environment.NATS_LOGINS, ...complete, NATS_IDENTITY_PASSWORD: '' });
    assert.deepEqual([withoutOne.status, withoutOne.stdout], [1, 'NATS_IDENTITY_PASSWORD is empty\n']);
  });

  it('creates those logins in the script of the first start', () => {
    const script = read('deploy/docker/init-database.sh');
    for (const name of serviceNames) assert.match(script, new RegExp(`\\b${name.replaceAll('-', '_')}\\b`));
    assert.match(script, /"\$\{schema\}_owner"[^\n]*"\$\{schema\}_service"[^\n]*"\$\{schema\}_worker"/);
  });

  it('hands every variable of .env.example to the services it is listed for', () => {
    const missing = sectionsOfExample().flatMap(({ services, names }) =>
      services.flatMap((service) =>
        names
          .filter((name) => !NOT_HANDED_ON.includes(name))
          .filter((name) => !(name in compose.services[service].environment))
          .map((name) => `${service}: ${name}`),
      ),
    );
    assert.deepEqual(missing, [...WITHOUT_JWKS, ...ONLY_CREDENTIALS]);
  });

  it('uses no variable that .env.example does not explain', () => {
    const used = [...read('docker-compose.yml').matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name);
    assert.deepEqual(
      [...new Set(used)].filter((name) => !example.has(name)),
      [],
    );
  });

  it('keeps the data of PostgreSQL 18 where its image wants the volume', () => {
    assert.ok(compose.services.postgres.volumes.some((volume) => volume === 'postgres-data:/var/lib/postgresql'));
  });
});

describe('the edge of docker compose', () => {
  it('routes as deploy/routes.json does', () => {
    const lines = [...read('deploy/docker/edge.conf').matchAll(/^  ~\^(\S+)\(\/\|\$\) (\S+):(\d+);$/gm)];
    const { routes } = JSON.parse(read('deploy/routes.json'));
    const portOf = (service) => compose.services[service].environment.PORT;
    const longestFirst = [...routes].sort(
      (a, b) => b.prefix.length - a.prefix.length || (a.prefix < b.prefix ? -1 : 1),
    );
    assert.deepEqual(
      lines.map(([, prefix, service, port]) => [prefix.replaceAll('\\', ''), service, port]),
      longestFirst.map(({ prefix, service }) => [prefix, service, portOf(service)]),
    );
  });
});

describe('the Dockerfile', () => {
  it('has a target for each service, not run by root, with a health check and its own manifest', () => {
    for (const name of serviceNames) {
      const { build, environment } = compose.services[name];
      assert.equal(build.dockerfile, 'deploy/docker/Dockerfile');
      const stage = stageOf(build.target);
      assert.match(stage, /^FROM service AS /, name);
      assert.match(stage, new RegExp(`CMD \\["node", "apps/${name}/dist/main.js"\\]`), name);
      assert.match(stage, new RegExp(`ENV PORT=${environment.PORT}\\b`), name);
      assert.match(stageOf('production-packages'), new RegExp(`--workspace @rmm/${name}\\s`), name);
      assert.equal(JSON.parse(read(`apps/${name}/package.json`)).name, `@rmm/${name}`);
    }
    const shared = stageOf('service');
    assert.match(shared, /^COPY --from=production-packages /m);
    assert.match(stageOf('production-packages'), /npm ci --omit=dev --workspace/);
    assert.match(shared, /^USER node$/m);
    assert.match(shared, /^HEALTHCHECK .*CMD \[/m);
  });

  it('copies only files that exist', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(?:--\S+ )*(\S+) /gm)].map(([, source]) => source);
    for (const source of copied) assert.ok(fs.existsSync(path.join(ROOT, source)), source);
  });
});

describe('.env.example', () => {
  it('names every variable the services read', () => {
    const call = /\bv\s*\.\s*(?:string|integer|boolean|enum|url|list|json|cidrs)(?:<[^(]*>)?\(\s*'([A-Z][A-Z0-9_]*)'/g;
    const read_ = sourceFiles().flatMap((file) =>
      [...fs.readFileSync(file, 'utf8').matchAll(call)].map(([, name]) => name),
    );
    assert.ok(new Set(read_).size > 30, 'the services read their variables in another way now');
    assert.deepEqual(
      [...new Set(read_)].filter((name) => !example.has(name)),
      [],
    );
  });
});

function stageOf(name) {
  const stages = dockerfile.split(/^(?=FROM )/m);
  const stage = stages.find((text) => new RegExp(`^FROM \\S+ AS ${name}$`, 'm').test(text));
  assert.ok(stage, `the Dockerfile has no target "${name}"`);
  return stage;
}

function sourceFiles() {
  const folders = ['apps', 'libs'].flatMap((group) =>
    fs.readdirSync(path.join(ROOT, group)).map((name) => path.join(ROOT, group, name, 'src')),
  );
  return folders.flatMap((folder) =>
    fs
      .readdirSync(folder, { recursive: true })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
      .map((name) => path.join(folder, name)),
  );
}
