import { pino } from 'pino';
import type { ServiceName } from '@rmm/contracts';
import { currentContext } from '../context/request-context.js';
import type { LogLevel } from '../config/fleet-config.js';
import { prettyStream } from './pretty-stream.js';
import { redact } from './redaction.js';

/** Fields of one log line; `err` takes an error. Names that sound like secrets are blotted out. */
export type LogFields = Record<string, unknown>;

/** Where lines go: bytes ending in a newline. */
export interface LogSink {
  write(line: string): void;
}

export interface LoggerOptions {
  service: ServiceName;
  level: LogLevel;
  sink?: LogSink;
}

/** Structured log: one JSON object a line, with `service` and the `requestId` of the running request. */
export class Logger {
  private constructor(
    private readonly pino: pino.Logger,
    readonly service: ServiceName,
    /** For lines that are already JSON. */
    readonly sink: LogSink,
  ) {}

  static create({ service, level, sink = defaultSink() }: LoggerOptions): Logger {
    const options: pino.LoggerOptions = {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => redact(fields) as LogFields },
      serializers: { err: (err: unknown) => err },
      mixin: () => {
        const context = currentContext();
        return context === undefined ? {} : { requestId: context.requestId };
      },
    };
    return new Logger(pino(options, sink), service, sink);
  }

  /** The same log with fields on every line. */
  child(fields: LogFields): Logger {
    return new Logger(this.pino.child(redact(fields) as LogFields), this.service, this.sink);
  }

  isEnabled(level: LogLevel): boolean {
    return this.pino.isLevelEnabled(level);
  }

  trace(fields: LogFields | string, message?: string): void {
    this.line('trace', fields, message);
  }
  debug(fields: LogFields | string, message?: string): void {
    this.line('debug', fields, message);
  }
  info(fields: LogFields | string, message?: string): void {
    this.line('info', fields, message);
  }
  warn(fields: LogFields | string, message?: string): void {
    this.line('warn', fields, message);
  }
  error(fields: LogFields | string, message?: string): void {
    this.line('error', fields, message);
  }

  private line(level: LogLevel, fields: LogFields | string, message?: string): void {
    if (typeof fields === 'string') this.pino[level](fields);
    else this.pino[level](fields, message);
  }
}

/** People get colored lines, pipes get JSON, written in blocks at most a second late and at once on exit. */
function defaultSink(): LogSink {
  if (process.stdout.isTTY) return prettyStream(process.stdout);
  return pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 500 });
}
