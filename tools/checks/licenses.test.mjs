// Checks the licenses of the production packages that the lock file names, and that a bill of materials can be made of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Licenses that allow use in a hosted and in a delivered product without publishing its source. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unicode-3.0',
  'Unlicense',
  'Zlib',
]);

/** Other licenses, by package, with the reason why its use is allowed. */
const EXCEPTIONS = [
  {
    package: /^@img\/sharp-/,
    license: 'LGPL-3.0-or-later',
    reason: 'libvips is a library of its own file, loaded at run time and not changed',
  },
];

/** Packages whose manifest names no license that can be read; found in their files. */
const FOUND = {
  buffers: 'MIT',
  busboy: 'MIT',
  chainsaw: 'MIT',
  'passport-strategy': 'MIT',
  pause: 'MIT',
  streamsearch: 'MIT',
};

function productionPackages() {
  const { packages } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));
  return Object.entries(packages)
    .filter(([folder, { dev, link }]) => folder.includes('node_modules/') && !dev && !link)
    .map(([folder, { license, version }]) => {
      const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return { name, version, license: FOUND[name] ?? license ?? 'none' };
    });
}

/** Returns the licenses of an SPDX expression without those that may be used; one part of an OR is enough. */
function refusedOf({ name, license }) {
  const isAllowed = (id) =>
    ALLOWED.has(id) || EXCEPTIONS.some((exception) => exception.package.test(name) && exception.license === id);
  const text = license.replace(/^\((.*)\)$/, '$1');
  if (text.includes(' OR ')) return text.split(' OR ').some(isAllowed) ? [] : [text];
  return text.split(' AND ').filter((id) => !isAllowed(id));
}

test('every production package has a license that allows its use', () => {
  const packages = productionPackages();
  assert.ok(packages.length > 300, `only ${packages.length} packages were found`);
  const refused = packages.flatMap((one) => refusedOf(one).map((id) => `${one.name}@${one.version}: ${id}`));
  assert.deepEqual(refused, []);
});

test('a license outside the list is refused, also as a part of an expression', () => {
  assert.deepEqual(refusedOf({ name: 'x', license: 'GPL-3.0-only' }), ['GPL-3.0-only']);
  assert.deepEqual(refusedOf({ name: 'x', license: 'MIT AND LGPL-3.0-or-later' }), ['LGPL-3.0-or-later']);
  assert.deepEqual(refusedOf({ name: 'x', license: '(MIT OR GPL-3.0-or-later)' }), []);
  assert.deepEqual(refusedOf({ name: '@img/sharp-libvips-linux-x64', license: 'LGPL-3.0-or-later' }), []);
});

test('no exception is out of date', () => {
  const packages = productionPackages();
  for (const name of Object.keys(FOUND))
    assert.ok(
      packages.some((one) => one.name === name),
      name,
    );
  for (const { package: pattern } of EXCEPTIONS) {
    assert.ok(
      packages.some(({ name }) => pattern.test(name)),
      String(pattern),
    );
  }
});

const billOf = (...options) =>
  JSON.parse(execFileSync(process.execPath, ['tools/sbom.mjs', ...options], { cwd: ROOT, maxBuffer: 2 ** 26 }));
const idOf = ({ name, version }) => `${name}@${version}`;

test('the bill of materials names each production package of the lock file with its hash, and no other', () => {
  const { bomFormat, components } = billOf();
  assert.equal(bomFormat, 'CycloneDX');
  const expected = new Set(productionPackages().map(idOf));
  assert.deepEqual(components.map(idOf).sort(), [...expected].sort());
  assert.deepEqual(components.filter(({ hashes }) => !hashes?.length).map(idOf), []);
});

test('the bill of materials of an image names what is installed in it', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'bill-'));
  try {
    const file = path.join(dir, 'installed.json');
    const packages = { 'node_modules/pg': { version: versionOf('pg') }, 'apps/identity': {} };
    fs.writeFileSync(file, JSON.stringify({ packages }));
    assert.deepEqual(billOf(file).components.map(idOf), [`pg@${versionOf('pg')}`]);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
});

test('every image contains the bill of what is installed in it', () => {
  const dockerfile = fs.readFileSync(path.join(ROOT, 'deploy/docker/Dockerfile'), 'utf8');
  const [install, ...others] = dockerfile.match(/^RUN npm ci --omit=dev(?:.*\\\n)*.*$/gm);
  assert.equal(others.length, 0);
  assert.match(install, / && node \/tools\/sbom\.mjs node_modules\/\.package-lock\.json > sbom\.cdx\.json$/);
});

const versionOf = (name) => productionPackages().find((one) => one.name === name).version;
