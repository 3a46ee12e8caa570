import fs from 'node:fs';
import path from 'node:path';
import { DATA_DIR, ensureDir, ROOT } from '../paths.js';

/** Spec files in a group: more of them save little time, and a failure is read in a longer output. */
const GROUP_SIZE = 16;

/** A module is replaced for all specs of a registry, so these spec files run alone. */
const REPLACES_MODULES = /\bjest\.(mock|doMock|resetModules|isolateModules)/;

/** Folder of the groups; always the same one, since Jest's cache of compiled files depends on it. */
export const GROUPS_DIR = path.join(DATA_DIR, 'spec-groups');

/**
 * Writes Jest files that each load some spec files of a project, which then share their modules: loading NestJS and TypeORM
 * for every spec file takes a third of the whole run.
 * @see docs/decisions/0026-spec-groups.md
 */
export function writeSpecGroups(): void {
  fs.rmSync(GROUPS_DIR, { recursive: true, force: true });
  ensureDir(GROUPS_DIR);
  for (const [name, files] of Object.entries(listSpecGroups())) {
    fs.writeFileSync(path.join(GROUPS_DIR, `${name}.spec.js`), files.map(loadInDescribe).join(''));
  }
}

/** Returns the paths of the spec files of each group, by its name: the project and a number. */
export function listSpecGroups(): Record<string, readonly string[]> {
  const projects = ['apps', 'libs', 'packages'].flatMap((kind) =>
    fs.readdirSync(path.join(ROOT, kind)).map((name) => path.join(kind, name)),
  );
  return Object.fromEntries(
    projects.flatMap((project) =>
      groupsOf(project).map((files, index) => [
        `${path.basename(project)}-${String(index + 1).padStart(2, '0')}`,
        files,
      ]),
    ),
  );
}

/** Returns the spec files of a project, those of one folder next to each other. */
function groupsOf(project: string): string[][] {
  const source = path.join(project, 'src');
  if (!fs.existsSync(path.join(ROOT, source))) return [];
  const names = fs.readdirSync(path.join(ROOT, source), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.spec.ts')).map((name) => path.join(source, name));
  const isAlone = (file: string) => REPLACES_MODULES.test(fs.readFileSync(path.join(ROOT, file), 'utf8'));
  const alone = files.filter(isAlone);
  const together = files.filter((file) => !alone.includes(file)).sort();
  const groups = alone.map((file) => [file]);
  for (let from = 0; from < together.length; from += GROUP_SIZE) groups.push(together.slice(from, from + GROUP_SIZE));
  return groups;
}

/** Hooks of the file run for its own tests only. */
const loadInDescribe = (file: string): string =>
  `describe(${JSON.stringify(file)}, () => void require(${JSON.stringify(path.join(ROOT, file))}));\n`;
