import { say } from '../console.js';
import { lockOwner, readState } from '../fleet/state.js';
import { isAlive, stopAll, stopProcess } from '../processes/process-record.js';

/** Stops the fleet of this data folder, and the processes of a launcher that was killed. */
export async function down(): Promise<void> {
  const owner = lockOwner();
  const wasRunning = isAlive(owner);
  if (owner && wasRunning) {
    say('stopping');
    await stopProcess({ ...owner, name: 'launcher', signal: 'SIGTERM' }, 60_000);
  }
  const orphans = readState().records.filter(isAlive);
  await stopAll(orphans);
  say(wasRunning || orphans.length ? 'stopped' : 'the fleet is not running');
}
