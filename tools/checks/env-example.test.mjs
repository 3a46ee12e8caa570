// .env.example names every variable that the services read, and no other.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const READ = /'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|PORT)'|\benv(?:ironment)?\.([A-Z][A-Z0-9_]+)\b/g;

/** Sources that read the environment, specs aside. */
function sources() {
  const folders = ['apps', 'libs'].flatMap((kind) =>
    fs.readdirSync(path.join(ROOT, kind)).map((name) => path.join(ROOT, kind, name, 'src')),
  );
  return folders
    .filter((folder) => fs.existsSync(folder) && !/testing/.test(folder) && !/fleet-e2e/.test(folder))
    .flatMap((folder) => fs.readdirSync(folder, { recursive: true }).map((file) => path.join(folder, String(file))))
    .filter((file) => /(config|peppers)[^/]*\.ts$|\/config\/[^/]+\.ts$/.test(file) && !file.endsWith('.spec.ts'));
}

/** Not the injection tokens, which are written alike. */
const isVariable = (name) => !name.endsWith('_CONFIG');

const namesRead = () =>
  new Set(
    sources()
      .flatMap((file) => [...fs.readFileSync(file, 'utf8').matchAll(READ)].map((m) => m[1] ?? m[2]))
      .filter(isVariable),
  );

const namesListed = () =>
  new Set(
    [...fs.readFileSync(path.join(ROOT, '.env.example'), 'utf8').matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map(
      (m) => m[1],
    ),
  );

test('.env.example lists every variable that is read', () => {
  const listed = namesListed();
  assert.deepEqual(
    [...namesRead()].filter((name) => !listed.has(name)),
    [],
  );
});

/** The compose file has some of its own: ports on the host, passwords of the stores. */
const composeNames = () =>
  [...fs.readFileSync(path.join(ROOT, 'docker-compose.yml'), 'utf8').matchAll(/\$\{([A-Z0-9_]+)/g)].map((m) => m[1]);

test('.env.example lists no variable that is not read', () => {
  const read = new Set([...namesRead(), ...composeNames()]);
  assert.ok(read.size > 30, `only ${read.size} variables were found: the pattern is out of date`);
  assert.deepEqual(
    [...namesListed()].filter((name) => !read.has(name)),
    [],
  );
});
