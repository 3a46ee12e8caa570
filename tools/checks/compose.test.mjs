import assert from 'node:assert/strict';
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
const NEEDED = ['PORT', 'DATABASE_URL', 'WORKER_DATABASE_URL', 'MIGRATIONS_DATABASE_URL', 'REDIS_URL', 'NATS_URL'];
const NEEDED_BY_SOME = {
  credentials: ['JWKS_URL'],
  'partner-gateway': ['OPENAPI_SOURCES'],
  provisioning: ['JWKS_URL'],
  'webhook-dispatcher': ['JWKS_URL'],
};

/** Listed for all, read by those that verify a token by identity's published keys. */
const WITHOUT_JWKS = ['identity: JWKS_URL', 'partner-gateway: JWKS_URL'];
const ONLY_CREDENTIALS = ['provisioning: ENROLLMENT_KEY_DEFAULT_TTL_MINUTES'];

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
  it('runs the three stores, the five services and the edge', () => {
    const expected = ['postgres', 'valkey', 'nats', 'streams', 'edge', ...serviceNames];
    assert.deepEqual(Object.keys(compose.services).sort(), expected.sort());
  });

  it('has a health check for everything that stays', () => {
    for (const [name, { healthcheck }] of Object.entries(compose.services)) {
      if (name !== 'streams') assert.ok(healthcheck?.test?.length > 1, name);
    }
  });

  it('starts the services after their stores are healthy and the streams exist', () => {
    for (const name of serviceNames) {
      const conditions = Object.entries(compose.services[name].depends_on).map(
        ([on, { condition }]) => `${on} ${condition}`,
      );
      const expected = ['postgres service_healthy', 'valkey service_healthy', 'nats service_healthy'];
      assert.deepEqual(conditions, [...expected, 'streams service_completed_successfully'], name);
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
      const schema = name.replaceAll('-', '_');
      assert.ok(environment.DATABASE_URL.startsWith(`postgres://${schema}_service:`), name);
      assert.ok(environment.WORKER_DATABASE_URL.startsWith(`postgres://${schema}_worker:`), name);
      assert.ok(environment.MIGRATIONS_DATABASE_URL.startsWith(`postgres://${schema}_owner:`), name);
    }
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
          .filter((name) => name !== 'BIND_ADDRESS') // a container opens its port on all interfaces
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

/** identity keeps the optional dependencies: the binaries of sharp are some. */
describe('the Dockerfile', () => {
  it('has a target for each service, not run by root, with a health check and its own manifest', () => {
    for (const name of serviceNames) {
      const { build, environment } = compose.services[name];
      assert.equal(build.dockerfile, 'deploy/docker/Dockerfile');
      const stage = stageOf(build.target);
      assert.match(stage, /^FROM service AS /, name);
      assert.match(stage, new RegExp(`CMD \\["node", "apps/${name}/dist/main.js"\\]`), name);
      assert.match(stage, new RegExp(`ENV PORT=${environment.PORT}\\b`), name);
      assert.match(
        stageOf(`${name}-packages`),
        new RegExp(`npm ci --omit=dev${name === 'identity' ? '' : ' --omit=optional'} --workspace @rmm/${name}\\b`),
      );
      assert.equal(JSON.parse(read(`apps/${name}/package.json`)).name, `@rmm/${name}`);
    }
    const shared = stageOf('service');
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
