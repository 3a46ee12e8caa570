import type { LogSink } from './logger.js';

const COLOURS: Record<string, string> = { error: '\x1b[31m', warn: '\x1b[33m', info: '\x1b[32m', debug: '\x1b[36m' };
const DIM = '\x1b[2m';
const OFF = '\x1b[0m';

/** Turns JSON lines into lines for people at a terminal. */
export function prettyStream(out: { write(text: string): unknown }): LogSink {
  return {
    write(line) {
      const { level, time, msg, service, err, requestId, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const word = String(level);
      const fields = Object.keys(rest).length > 0 ? ` ${DIM}${JSON.stringify(rest)}${OFF}` : '';
      const id = typeof requestId === 'string' ? ` ${DIM}${requestId}${OFF}` : '';
      const stack = err ? `\n${(err as { stack?: string }).stack ?? JSON.stringify(err)}` : '';
      const at = String(time).slice(11, 23);
      out.write(
        `${DIM}${at}${OFF} ${COLOURS[word] ?? ''}${word.padEnd(5)}${OFF} ${String(service)} ${typeof msg === 'string' ? msg : ''}${fields}${id}${stack}\n`,
      );
    },
  };
}
