// Merged migrations stay as they are and import nothing that goes on changing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { freeze, migrationProblems, projectImports } from './migrations.mjs';

test('every migration of this checkout is frozen and self-contained', () => {
  assert.deepEqual(migrationProblems(), []);
});

describe('the check', () => {
  const FILE = 'apps/keys/src/migrations/1767225600000-AddKeys.ts';
  const TEXT = "import type { QueryRunner } from 'typeorm';\nexport class AddKeys1767225600000 {}\n";
  const roots = [];
  let root;
  const git = (...args) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: root });
  const write = (file, text) => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    fs.writeFileSync(path.join(root, file), text);
  };

  beforeEach(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'));
    roots.push(root);
    git('init', '-q', '-b', 'main');
    write('tools/checks/migrations.lock.json', '{}\n');
    write(FILE, TEXT);
    freeze(root);
    git('add', '-A');
    git('commit', '-qm', 'first');
    git('checkout', '-qb', 'change');
  });
  after(() => roots.forEach((dir) => fs.rmSync(dir, { recursive: true, force: true })));

  test('passes when nothing changed', () => assert.deepEqual(migrationProblems(root), []));

  test('fails when a merged migration changes, also after freezing again', () => {
    write(FILE, `${TEXT}// more\n`);
    assert.match(migrationProblems(root).join(), /changed after it was frozen/);
    assert.deepEqual(freeze(root), []);
    assert.match(migrationProblems(root).join(), /changed after it was frozen/);
  });

  test('fails when the entry of a merged migration is edited or the file removed', () => {
    write('tools/checks/migrations.lock.json', '{}\n');
    assert.match(migrationProblems(root).join(), /differs from the base branch/);
    freeze(root);
    fs.rmSync(path.join(root, FILE));
    assert.match(migrationProblems(root).join(), /must not be removed/);
  });

  test('fails when a new migration is not frozen, and passes once it is', () => {
    const added = 'apps/keys/src/migrations/1767225600001-AddMore.ts';
    write(added, TEXT);
    assert.match(migrationProblems(root).join(), /is not frozen/);
    assert.deepEqual(freeze(root), [added]);
    assert.deepEqual(migrationProblems(root), []);
  });

  test('fails when a migration imports project code', () => {
    write('apps/keys/src/migrations/1767225600001-AddMore.ts', "import { tables } from './tables.js';\n");
    freeze(root);
    assert.match(migrationProblems(root).join(), /imports \.\/tables\.js/);
  });

  test('reads every form of import', () => {
    const text =
      "import a from '@rmm/persistence';\nexport { b } from './b.js';\nimport './c.js';\nawait import('./d.js');";
    assert.deepEqual(projectImports(text), ['@rmm/persistence', './b.js', './c.js', './d.js']);
    assert.deepEqual(
      projectImports("import { type QueryRunner } from 'typeorm';\nimport type {\n  A,\n} from '@rmm/a';"),
      ['@rmm/a'],
    );
  });
});
