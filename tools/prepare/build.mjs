import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { ROOT } from '../paths.mjs';
import { run } from '../processes/run.mjs';

const STAMP = path.join(ROOT, 'node_modules/.fleet-build');
const CONFIGS = /^(package\.json|tsconfig.*\.json)$/;

/** Builds what the services need with `tsc -b` alone; when no source changed since, not even that. */
export async function buildServices(step) {
  const stamp = stampOfSources();
  if (fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8') === stamp && everyOutputIsThere()) return;
  await step('build: tsc -b', async () => {
    const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
    const result = await run(process.execPath, [compiler, '-b', 'tsconfig.build.json'], { cwd: ROOT });
    if (result.status !== 0) throw new Failure(`The build failed:\n${(result.stdout || result.stderr).trim()}`);
  });
  fs.writeFileSync(STAMP, stamp);
}

const projects = () =>
  ['libs', 'apps'].flatMap((group) =>
    fs.readdirSync(path.join(ROOT, group)).map((name) => path.join(ROOT, group, name)),
  );

/** Name, size and time of every source file: cheaper than asking the compiler, and as exact for this purpose. */
function stampOfSources() {
  const hash = createHash('sha256').update(process.version);
  const add = (file) => {
    const { size, mtimeMs } = fs.statSync(file);
    hash.update(`${file}:${size}:${mtimeMs}\n`);
  };
  for (const name of fs.readdirSync(ROOT).filter((entry) => CONFIGS.test(entry))) {
    if (fs.statSync(path.join(ROOT, name)).isFile()) add(path.join(ROOT, name));
  }
  for (const project of projects()) {
    for (const name of fs.readdirSync(project).filter((entry) => CONFIGS.test(entry))) add(path.join(project, name));
    filesBelow(path.join(project, 'src')).forEach(add);
  }
  return hash.digest('hex');
}

function filesBelow(dir) {
  if (!fs.existsSync(dir)) return [];
  const entries = fs.readdirSync(dir, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
}

function everyOutputIsThere() {
  const built = projects().filter(
    (project) => !/fleet-e2e$|testing(-services)?$/.test(project) && fs.existsSync(path.join(project, 'src')),
  );
  return built.every((project) => {
    const output = path.join(project, 'dist', path.basename(path.dirname(project)) === 'apps' ? 'main.js' : 'index.js');
    return fs.existsSync(output);
  });
}
