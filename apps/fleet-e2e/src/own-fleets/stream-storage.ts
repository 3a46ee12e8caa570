import { connect } from 'nats';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { natsServerOf } from '../nats-server.js';
import type { OwnFleet } from './own-fleet.js';

/**
 * Limits the storage of the streams, as an operator does: in the configuration of NATS, which then reads it again.
 * @param share  of the limit that the streams use now, from 0 to 1
 * @returns a function that sets the limit of before
 */
export async function limitStreamStorage(fleet: OwnFleet, share: number): Promise<() => Promise<void>> {
  const file = join(fleet.dir, 'dev/nats/nats.conf');
  const before = await readFile(file, 'utf8');
  const connection = await connect(natsServerOf(fleet.handle));
  const { storage } = await (await connection.jetstreamManager()).getAccountInfo();
  await connection.close();
  const config = JSON.parse(before) as { accounts: { FLEET: { jetstream: { max_file: number } } } };
  config.accounts.FLEET.jetstream.max_file = Math.ceil(storage / share);
  const apply = async (text: string) => {
    await writeFile(file, text);
    await fleet.signalStore('nats', 'SIGHUP');
  };
  await apply(JSON.stringify(config));
  return () => apply(before);
}
