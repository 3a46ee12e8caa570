import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { ROOT } from '../paths.mjs';
import { firstLine, run } from '../processes/run.mjs';
import { usesOwnApps } from './services.mjs';

const SCRIPT = path.join(ROOT, 'libs/messaging/dist/setup-streams.js');

/** Creates the JetStream streams, with the one login that may. */
export async function prepareStreams(natsAdminUrl) {
  if (usesOwnApps && !fs.existsSync(SCRIPT)) return;
  const result = await run(process.execPath, [SCRIPT], {
    env: { ...process.env, NATS_ADMIN_URL: natsAdminUrl },
    timeoutMs: 30_000,
  });
  if (result.status !== 0) throw new Failure(`The streams could not be set up: ${firstLine(result)}`);
}
