import fs from 'node:fs';
import path from 'node:path';

interface LogLine {
  level: string;
  time: string;
  service: string;
  msg: string;
  err?: { type?: string; message?: string; logDetails?: unknown };
}

const LEVELS = new Set(['warn', 'error', 'fatal']);
/** More would hide the failures of the specs, which are printed before. */
const MAX_LINES = 60;

/**
 * Returns the warnings and errors in the log files of a folder, a line for each kind with its count and the times of the
 * first and the last one, in the order of the last.
 */
export function summarizeWarnings(dir: string): string[] {
  const files = fs.existsSync(dir) ? fs.readdirSync(dir).filter((name) => name.endsWith('.log')) : [];
  const lines = files.flatMap((file) => readLines(path.join(dir, file))).sort((a, b) => (a.time < b.time ? -1 : 1));
  const kinds = new Map<string, { count: number; first: string; last: string }>();
  for (const line of lines) {
    const kind = `${line.service}: ${line.msg}${describeError(line)}`;
    const { count, first } = kinds.get(kind) ?? { count: 0, first: line.time };
    kinds.delete(kind); // to the end of the order
    kinds.set(kind, { count: count + 1, first, last: line.time });
  }
  return [...kinds]
    .slice(-MAX_LINES)
    .map(([kind, { count, first, last }]) => `${count} × ${timeOf(first)} to ${timeOf(last)}  ${kind}`.slice(0, 300));
}

function readLines(file: string): LogLine[] {
  return fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text) => {
      try {
        const line = JSON.parse(text) as LogLine;
        return LEVELS.has(line.level) && typeof line.time === 'string' ? [line] : [];
      } catch {
        return []; // lines of stores, and of a service before its logger has started
      }
    });
}

function describeError({ err }: LogLine): string {
  if (!err) return '';
  return ` (${err.type ?? 'Error'} ${err.logDetails ? JSON.stringify(err.logDetails) : (err.message ?? '')})`;
}

const timeOf = (time: string): string => time.slice(11, 19);
