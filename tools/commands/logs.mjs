import fs from 'node:fs';
import { Failure } from '../failure.mjs';
import { logFileOf } from '../fleet/layout.mjs';
import { logNames } from '../fleet/logs.mjs';
import { dim } from '../fleet/reporter.mjs';
import { sleep } from '../processes/wait.mjs';
import { readOptions } from './options.mjs';

/** `fleet logs [service] [-f] [-n lines]`: without a service the logs of all services, each line with its name. */
export default async function logs(args) {
  const options = {
    follow: { type: 'boolean', short: 'f', default: false },
    lines: { type: 'string', short: 'n', default: '40' },
  };
  const { values, positionals } = readOptions(args, options, { allowPositionals: true });
  const lines = Number(values.lines);
  if (!Number.isInteger(lines) || lines < 1)
    throw new Failure(`-n wants a number of lines from 1, got "${values.lines}"`);
  const names = namesFor(positionals[0]);
  const width = Math.max(...names.map((name) => name.length));
  const print = (name, line) => console.log(names.length > 1 ? `${dim(name.padEnd(width))}  ${line}` : line);
  const readers = names.map((name) => ({ name, read: lineReader(logFileOf(name)) }));

  for (const { name, read } of readers)
    read()
      .slice(-lines)
      .forEach((line) => print(name, line));
  while (values.follow) {
    await sleep(250);
    for (const { name, read } of readers) read().forEach((line) => print(name, line));
  }
}

function namesFor(wanted) {
  const all = logNames();
  if (!all.length) throw new Failure('There are no logs yet.');
  const names = wanted
    ? all.filter((name) => name === wanted || name.replace(/-\d+$/, '') === wanted)
    : all.filter((name) => !isStore(name));
  if (!names.length) throw new Failure(`There is no log "${wanted}". There are: ${all.join(', ')}`);
  return names;
}

const isStore = (name) => ['postgres', 'redis', 'nats', 'fleet'].includes(name);

/** Each call returns the complete lines added since the last one. */
function lineReader(file) {
  let position = 0;
  let rest = '';
  return () => {
    const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size < position) position = 0; // rotated
    const handle = fs.openSync(file, 'r');
    const buffer = Buffer.alloc(size - position);
    position += fs.readSync(handle, buffer, 0, buffer.length, position);
    fs.closeSync(handle);
    const lines = (rest + buffer.toString('utf8')).split('\n');
    rest = lines.pop();
    return lines;
  };
}
