import { tailOf } from '../processes/keeper.mjs';
import { Failure } from '../failure.mjs';
import { sleep } from '../processes/wait.mjs';

const TIMEOUT_MS = 30_000;

/**
 * Waits until `isReady` is true.
 * @throws {Failure} with the end of the log when the server ended, or the time is up
 */
export async function waitUntilReady(what, server, logFile, isReady) {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    if (server.ended()) throw new Failure(`${what} ended at its start (${server.ended()}):\n${tailOf(logFile)}`);
    if (await hasPermission(isReady)) return;
    if (Date.now() > deadline) throw new Failure(`${what} was not ready after 30 s:\n${tailOf(logFile)}`);
    await sleep(15);
  }
}

async function hasPermission(condition) {
  try {
    return await condition();
  } catch {
    return false; // not there yet
  }
}
