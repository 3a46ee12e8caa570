import { say } from '../fleet/reporter.mjs';
import { readState } from '../fleet/state.mjs';
import { LOCK_FILE } from '../fleet/layout.mjs';
import { readJson } from '../paths.mjs';
import { isAlive } from '../processes/identity.mjs';
import { stop, stopAll } from '../processes/stop.mjs';
import { readOptions } from './options.mjs';

/** `fleet down`: stops the fleet of this data folder, and whatever a killed launcher left. */
export default async function down(args) {
  readOptions(args, {});
  const launcher = readJson(LOCK_FILE);
  const wasRunning = isAlive(launcher);
  if (wasRunning) await stop({ ...launcher, signal: 'SIGTERM' }, 60_000);
  const left = (readState().records ?? []).filter(isAlive);
  await stopAll(left.filter(({ name }) => !name.startsWith('store:')));
  await stopAll(left);
  say(wasRunning || left.length ? 'stopped' : 'the fleet is not running');
}
