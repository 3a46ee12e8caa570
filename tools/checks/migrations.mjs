// Freezes migrations: `node tools/checks/migrations.mjs` adds new ones to migrations.lock.json.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const CHECKOUT = path.resolve(import.meta.dirname, '../..');
const LOCK = 'tools/checks/migrations.lock.json';
const MIGRATION = /^apps\/[^/]+\/src\/migrations\/\d{13}-[^/]+(?<!\.spec)\.ts$/;
const IMPORT =
  /^\s*(?:import|export)\b[^;]*?\bfrom\s*['"]([^'"]+)['"]|\b(?:import|require)\(\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]/gm;
const ALLOWED = new Set(['typeorm']);

const git = (root, ...args) => {
  try {
    return execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  } catch {
    return null;
  }
};

const hashOf = (text) => createHash('sha256').update(text).digest('hex');

export const migrationFiles = (root = CHECKOUT) =>
  git(root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard', 'apps/*/src/migrations/*.ts')
    .split('\0')
    .filter((file) => MIGRATION.test(file) && fs.existsSync(path.join(root, file)))
    .sort();

/** Reads the lock of the checkout: `{ "<path>": "<SHA-256>" }`. */
export const readLock = (root = CHECKOUT) => JSON.parse(fs.readFileSync(path.join(root, LOCK), 'utf8'));

/** Reads the lock of the base branch, whose migrations have been merged; empty where there is none. */
export function mergedLock(root = CHECKOUT) {
  const base = ['origin/main', 'main', 'HEAD'].find((name) => git(root, 'rev-parse', '--verify', '--quiet', name));
  const ancestor = base && git(root, 'merge-base', 'HEAD', base)?.trim();
  return JSON.parse((ancestor && git(root, 'show', `${ancestor}:${LOCK}`)) || '{}');
}

/** Lists what a migration imports from the project, which goes on changing while the migration may not. */
export const projectImports = (text) =>
  [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3]).filter((name) => !ALLOWED.has(name));

/** @returns one line per violation; empty when all migrations are frozen as they were merged */
export function migrationProblems(root = CHECKOUT) {
  const lock = readLock(root);
  const merged = mergedLock(root);
  const files = migrationFiles(root);
  const present = new Set(files);
  const edited = Object.keys(merged).filter((file) => lock[file] !== merged[file]);
  const missing = Object.keys(lock).filter((file) => !present.has(file));
  return [
    ...edited.map((file) => `${file}: its entry in ${LOCK} differs from the base branch; restore it`),
    ...missing.map((file) => `${file}: is frozen and must not be removed or renamed`),
    ...files.flatMap((file) => {
      const text = fs.readFileSync(path.join(root, file), 'utf8');
      const imports = projectImports(text).map((name) => `${file}: imports ${name}; a migration imports typeorm alone`);
      if (!lock[file]) return [...imports, `${file}: is not frozen; run: node tools/checks/migrations.mjs`];
      if (lock[file] !== hashOf(text))
        return [...imports, `${file}: changed after it was frozen; write a new migration`];
      return imports;
    }),
  ];
}

/** Freezes new migrations, and changed ones that the base branch does not have yet. @returns the paths that were frozen */
export function freeze(root = CHECKOUT) {
  const lock = readLock(root);
  const merged = mergedLock(root);
  const next = {};
  for (const file of [...new Set([...Object.keys(merged), ...migrationFiles(root)])].sort()) {
    next[file] = merged[file] ?? hashOf(fs.readFileSync(path.join(root, file), 'utf8'));
  }
  fs.writeFileSync(path.join(root, LOCK), `${JSON.stringify(next, null, 2)}\n`);
  return Object.keys(next).filter((file) => lock[file] !== next[file]);
}

if (import.meta.filename === process.argv[1]) {
  freeze().forEach((file) => console.log(`frozen: ${file}`));
  const problems = migrationProblems();
  problems.forEach((problem) => console.error(problem));
  process.exitCode = problems.length ? 1 : 0;
}
