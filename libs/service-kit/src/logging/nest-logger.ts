import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger.js';

/** What Nest says, in our log; its chatter while it wires modules is `debug`. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    const context = contextOf(rest);
    this.logger[context !== undefined && CHATTER.has(context) ? 'debug' : 'info']({ context }, text(message));
  }
  error(message: unknown, ...rest: unknown[]): void {
    if (message instanceof Error) this.logger.error({ context: contextOf(rest), err: message }, message.message);
    else this.logger.error({ context: contextOf(rest), detail: rest.length > 1 ? rest[0] : undefined }, text(message));
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn({ context: contextOf(rest) }, text(message));
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.logger.debug({ context: contextOf(rest) }, text(message));
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.logger.trace({ context: contextOf(rest) }, text(message));
  }
}

const CHATTER = new Set(['InstanceLoader', 'NestFactory', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

function contextOf(rest: unknown[]): string | undefined {
  const last = rest.at(-1);
  return typeof last === 'string' ? last : undefined;
}

function text(message: unknown): string {
  return typeof message === 'string' ? message : JSON.stringify(message);
}
