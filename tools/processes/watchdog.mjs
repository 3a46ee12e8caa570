// Holds a pipe from the launcher. When the pipe ends without a farewell the launcher was killed, and what it started
// is stopped here: first the services (SIGTERM), then the stores, in the reverse order of their start.
import fs from 'node:fs';
import readline from 'node:readline';
import { isAlive } from './identity.mjs';
import { stop, stopAll } from './stop.mjs';

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});

const watched = [];
const folders = [];

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.watch) watched.push(message.watch);
  if (message.remove) folders.push(message.remove);
  if (message.bye) process.exit(0);
});

process.stdin.on('end', async () => {
  const left = watched.filter(isAlive);
  const stores = left.filter((record) => record.name.startsWith('store:'));
  await stopAll(left.filter((record) => !stores.includes(record)));
  await Promise.all(stores.map((record) => stop(record)));
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
