import { Failure } from '../failure.mjs';
import { clearNats, clearRedis } from './claim.mjs';
import { dropDatabase } from './database.mjs';
import { FLEET_DIR } from './layout.mjs';
import { keptSecrets } from './secrets.mjs';
import { readState } from './state.mjs';

const CLEAR = { postgres: dropDatabase, redis: clearRedis, nats: clearNats };

/**
 * Removes our data from servers that were there before us; private ones go with their folder.
 * @throws {Failure} when one of them does not answer: what stays there could not be removed any more without the folder
 */
export async function removeFromOwnServers() {
  for (const [kind, { url, isPrivate }] of Object.entries(readState().stores ?? {})) {
    if (isPrivate) continue;
    try {
      await CLEAR[kind](url, { id: keptSecrets().fleetId, dir: FLEET_DIR });
    } catch (error) {
      throw new Failure(
        `The fleet's data on ${kind} at ${new URL(url).host} cannot be removed: ${error.message || error.code}\n` +
          `       Start that server again; if it is gone for good, delete ${FLEET_DIR}`,
      );
    }
  }
}
