// Keeps a pipe from the launcher. When the pipe ends without a "release" message, the launcher was killed; this process
// then stops what the launcher started and deletes its temporary folders.
import fs from 'node:fs';
import readline from 'node:readline';
import { isAlive, type ProcessRecord, stopAll } from './process-record.js';

export interface WatchdogMessage {
  watch?: ProcessRecord;
  remove?: string;
  release?: boolean;
}

const records: ProcessRecord[] = [];
const folders: string[] = [];

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => {});

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as WatchdogMessage;
  if (message.watch) records.push(message.watch);
  if (message.remove) folders.push(message.remove);
  if (message.release) process.exit(0);
});

process.stdin.on('end', () => {
  void stopAll(records.filter(isAlive)).then(() => {
    for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
    process.exit(0);
  });
});
