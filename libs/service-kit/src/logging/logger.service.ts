import { pino } from 'pino';
import pretty from 'pino-pretty';
import type { LogLevel } from '@rmm/config';
import type { ServiceName } from '@rmm/contracts';
import { traceIdOf } from '@rmm/tracing';
import { currentContext } from '../context/request-context.js';
import { redact } from './redaction.js';

/** Fields of one log line; `err` takes an error. Values of secret names are redacted. */
export type LogFields = Record<string, unknown>;

/** The destination of log lines; each ends in a newline. */
export interface LogSink {
  write(line: string): void;
}

export interface LoggerOptions {
  service: ServiceName;
  level: LogLevel;
  sink?: LogSink;
}

/** Structured log: one JSON object a line, with `service`, and `requestId` and `traceId` of the running request. */
export class Logger {
  private constructor(
    private readonly pino: pino.Logger,
    private readonly accessLog: pino.Logger,
  ) {}

  static create({ service, level, sink = defaultSink() }: LoggerOptions): Logger {
    const options: pino.LoggerOptions = {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    };
    const app = pino(
      {
        ...options,
        formatters: { ...options.formatters, log: (fields) => redact(fields) as LogFields },
        serializers: { err: (err: unknown) => err },
        mixin: () => {
          const context = currentContext();
          if (context === undefined) return {};
          return { requestId: context.requestId, traceId: traceIdOf(context.traceparent) };
        },
      },
      sink,
    );
    return new Logger(app, pino(options, sink));
  }

  /** Returns the same log with fields on every line. */
  child(fields: LogFields): Logger {
    return new Logger(this.pino.child(redact(fields) as LogFields), this.accessLog);
  }

  isEnabled(level: LogLevel): boolean {
    return this.pino.isLevelEnabled(level);
  }

  /** Writes the line of one request. Its fields are known to contain no secrets, so they are not searched. */
  access(fields: LogFields): void {
    this.accessLog.info(fields, 'request');
  }

  trace(fields: LogFields | string, message?: string): void {
    this.pino.trace(fields, message);
  }
  debug(fields: LogFields | string, message?: string): void {
    this.pino.debug(fields, message);
  }
  info(fields: LogFields | string, message?: string): void {
    this.pino.info(fields, message);
  }
  warn(fields: LogFields | string, message?: string): void {
    this.pino.warn(fields, message);
  }
  error(fields: LogFields | string, message?: string): void {
    this.pino.error(fields, message);
  }
}

/** Terminals get colored lines, pipes get JSON, written in blocks at most 500 ms late and at once on exit. */
function defaultSink(): LogSink {
  if (process.stdout.isTTY) return pretty({ ignore: 'service', messageFormat: '{service} {msg}', sync: true });
  return pino.destination({ dest: 1, sync: false, minLength: 8_192, periodicFlush: 500 });
}
