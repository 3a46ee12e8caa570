import { readJson, writeAtomically } from '../paths.mjs';
import { isAlive } from '../processes/identity.mjs';
import { STATE_FILE } from './layout.mjs';

/**
 * What the launcher writes down so that other commands, and the next launcher, know what runs:
 * `{ launcher, phase, summary, records, ports, control }`. It holds passwords, so only its owner may read it.
 */
export function readState() {
  return readJson(STATE_FILE, {});
}

export function writeState(state) {
  writeAtomically(STATE_FILE, `${JSON.stringify(state, null, 2)}\n`);
}

/** The state of the fleet that runs now, or null. */
export function runningState() {
  const state = readState();
  return isAlive(state.launcher) ? state : null;
}
