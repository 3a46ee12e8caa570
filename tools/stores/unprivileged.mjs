import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { run } from '../processes/run.mjs';

/**
 * PostgreSQL refuses to run as root. The user it runs as then: an existing one without rights, which must have an
 * entry in the passwd file.
 * @returns {{ name: string, uid: number, gid: number } | null} null when we are not root
 */
export function unprivilegedUser() {
  if (process.getuid?.() !== 0) return null;
  const passwd = fs.readFileSync('/etc/passwd', 'utf8');
  for (const name of ['postgres', 'nobody']) {
    const match = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(passwd);
    if (match && Number(match[1]) !== 0) return { name, uid: Number(match[1]), gid: Number(match[2]) };
  }
  throw new Failure('PostgreSQL cannot run as root, and there is no user "postgres" or "nobody" to run it as.');
}

/** Whether that user can get at a path; only a child with its id can tell. */
export async function canReach(user, target) {
  const script = `require('fs').accessSync(${JSON.stringify(target)})`;
  const { status } = await run(process.execPath, ['-e', script], { uid: user.uid, gid: user.gid, cwd: '/' });
  if (status === null) throw new Failure('PostgreSQL was not started: everything is being stopped.'); // no answer is no "no"
  return status === 0;
}

/**
 * A folder outside a closed home (0700, as root's is), for data that the unprivileged user must reach. Its name
 * comes from `dir`, so that the next run finds it again.
 */
export function shelterPath(dir) {
  const hash = createHash('sha256').update(dir).digest('hex').slice(0, 12);
  return path.join('/var/tmp', `rmm-fleet-${hash}`);
}

/** Makes that folder. */
export function shelterFor(dir) {
  const shelter = shelterPath(dir);
  fs.mkdirSync(shelter, { recursive: true, mode: 0o755 });
  if (fs.statSync(shelter).uid !== process.getuid()) throw new Failure(`${shelter} belongs to someone else.`);
  return shelter;
}
