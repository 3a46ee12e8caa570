// Reads from a pipe what the launcher starts. When the pipe ends, the launcher has released its processes or was killed:
// this process stops those that still run, and deletes the temporary folders.
import fs from 'node:fs';
import readline from 'node:readline';
import { ignore } from '../console.js';
import { isAlive, type ProcessRecord, stopAll } from './process-record.js';

export type WatchdogMessage = ProcessRecord | string;

const messages: WatchdogMessage[] = [];
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, ignore);
for await (const line of readline.createInterface({ input: process.stdin })) {
  messages.push(JSON.parse(line) as WatchdogMessage);
}
await stopAll(messages.filter((message) => typeof message !== 'string').filter(isAlive));
for (const folder of messages.filter((message) => typeof message === 'string')) {
  fs.rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
