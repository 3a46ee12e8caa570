import type { LoggerService } from '@nestjs/common';
import type { LogLevel } from '@rmm/config';
import type { Logger, LogFields } from './logger.service.js';

/** Contexts that report each module and route while Nest starts; they are logged as `debug`. */
const VERBOSE = ['InstanceLoader', 'NestFactory', 'RoutesResolver', 'RouterExplorer', 'NestApplication'];

/** Writes the messages of Nest to our log. Nest passes the context as the last argument. */
export class NestLogger implements LoggerService {
  readonly error = this.writer('error');
  readonly warn = this.writer('warn');
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('trace');

  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(VERBOSE.includes(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  private writer(level: LogLevel) {
    return (message: unknown, ...rest: unknown[]) => this.write(level, message, rest);
  }

  private write(level: LogLevel, message: unknown, rest: unknown[]): void {
    const last = rest.at(-1);
    const context = typeof last === 'string' ? last : undefined;
    const detail = level === 'error' && rest.length > 1 ? rest[0] : undefined;
    if (message instanceof Error) this.logger[level]({ context, err: message }, message.message);
    else if (typeof message !== 'object' || message === null) this.logger[level]({ context, detail }, String(message));
    else {
      const { message: text, ...fields } = message as LogFields;
      this.logger[level]({ context, detail, ...fields }, typeof text === 'string' ? text : JSON.stringify(message));
    }
  }
}
