// Each service and repository has a spec of its name in its folder (docs/style.md), and each spec file runs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { listSpecGroups } from '../dist/commands/spec-groups.js';

const ROOT = path.resolve(import.meta.dirname, '../..');
const TESTED = /\.(service|repository)\.ts$/;

/** Files without a spec of their own, with the reason. */
const EXCEPTIONS = {
  'libs/access/src/directory/directory-tools.service.ts': 'has dependencies and no behavior',
  'libs/access/src/directory/tenant-directory.repository.ts': 'abstract: see partner-directory.repository.spec.ts',
  'libs/access/src/directory/tenant-directory.service.ts':
    'common to both directories: see organization-directory.service.spec.ts and partner-directory.service.spec.ts',
};

const sources = ['apps', 'libs']
  .flatMap((group) => fs.readdirSync(path.join(ROOT, group)).map((project) => `${group}/${project}/src`))
  .filter((folder) => fs.existsSync(path.join(ROOT, folder)))
  .flatMap((folder) =>
    fs
      .readdirSync(path.join(ROOT, folder), { recursive: true })
      .map((file) => `${folder}/${file.split(path.sep).join('/')}`),
  );
const tested = sources.filter((file) => TESTED.test(file));
const hasSpec = (file) => sources.includes(file.replace(/\.ts$/, '.spec.ts'));

test('each service and repository has a spec of its name in its folder', () => {
  assert.ok(tested.length > 200, `expected services and repositories, found ${tested.length}`);
  assert.deepEqual(
    tested.filter((file) => !hasSpec(file) && !(file in EXCEPTIONS)),
    [],
    'Add a spec for each of these files, or an exception with its reason to spec-files.test.mjs',
  );
});

test('each exception is a file without a spec', () => {
  assert.deepEqual(
    Object.keys(EXCEPTIONS).filter((file) => !tested.includes(file) || hasSpec(file)),
    [],
    'Remove these exceptions from spec-files.test.mjs',
  );
});

test('each spec file is in one group, alone when it replaces modules', () => {
  const groups = Object.values(listSpecGroups());
  const packages = fs.readdirSync(path.join(ROOT, 'packages')).flatMap((name) =>
    fs
      .readdirSync(path.join(ROOT, 'packages', name), { recursive: true })
      .map((file) => `packages/${name}/${file}`)
      .filter((file) => file.includes('/src/')),
  );
  const specs = [...sources, ...packages].filter((file) => file.endsWith('.spec.ts'));
  assert.deepEqual(groups.flat().sort(), specs.sort());
  const replacing = groups.filter((files) =>
    files.some((file) => fs.readFileSync(path.join(ROOT, file), 'utf8').includes('jest.mock(')),
  );
  assert.ok(replacing.length > 0 && replacing.every((files) => files.length === 1), 'a group has a replaced module');
});
