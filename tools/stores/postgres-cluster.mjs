import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { firstLine, run } from '../processes/run.mjs';

/**
 * Creates a data folder, sorted by code point in every version. It is made aside and renamed, so that an interrupted
 * start never leaves something that looks like a database.
 */
export async function createCluster({ home, bin, major, user, password, environment }) {
  const unfinished = `${home}.new`;
  const passwordFile = `${home}.password`;
  fs.rmSync(unfinished, { recursive: true, force: true });
  fs.mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  fs.writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) for (const file of [unfinished, passwordFile]) fs.chownSync(file, user.uid, user.gid);

  const initdb = (locale) =>
    run(
      path.join(bin, 'initdb'),
      [
        '-D',
        unfinished,
        '-U',
        'fleet',
        '--pwfile',
        passwordFile,
        '-A',
        'scram-sha-256',
        '--encoding=UTF8',
        ...locale,
        '--no-sync',
        '--no-instructions',
      ],
      { cwd: '/', env: { PATH: process.env.PATH, ...environment }, ...(user && { uid: user.uid, gid: user.gid }) },
    );
  try {
    let result = await initdb(localeFor(major));
    if (result.status !== 0) result = await initdb(['--locale=C']);
    if (result.status !== 0) throw new Failure(`initdb failed: ${firstLine(result)}`);
  } finally {
    fs.rmSync(passwordFile, { force: true });
  }
  fs.renameSync(unfinished, home);
}

function localeFor(major) {
  if (major >= 17) return ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  return ['--locale=C.UTF-8'];
}
