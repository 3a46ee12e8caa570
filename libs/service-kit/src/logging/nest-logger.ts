import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger.js';

/** What Nest says, in our log; its chatter while it wires modules is `debug`. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    const context = contextOf(rest);
    this.logger[context !== undefined && CHATTER.has(context) ? 'debug' : 'info'](
      { context, ...fieldsOf(message) },
      text(message),
    );
  }
  error(message: unknown, ...rest: unknown[]): void {
    if (message instanceof Error) this.logger.error({ context: contextOf(rest), err: message }, message.message);
    else {
      const detail = rest.length > 1 ? rest[0] : undefined;
      this.logger.error({ context: contextOf(rest), detail, ...fieldsOf(message) }, text(message));
    }
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn({ context: contextOf(rest), ...fieldsOf(message) }, text(message));
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.logger.debug({ context: contextOf(rest), ...fieldsOf(message) }, text(message));
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.logger.trace({ context: contextOf(rest), ...fieldsOf(message) }, text(message));
  }
}

const CHATTER = new Set(['InstanceLoader', 'NestFactory', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

function contextOf(rest: unknown[]): string | undefined {
  const last = rest.at(-1);
  return typeof last === 'string' ? last : undefined;
}

/** `logger.warn({ message, err, ... })`: the fields beside the message stay fields. */
function fieldsOf(message: unknown): Record<string, unknown> {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return {};
  return Object.fromEntries(Object.entries(message).filter(([name]) => name !== 'message'));
}

function text(message: unknown): string {
  if (typeof message === 'string') return message;
  const inner = (message as { message?: unknown } | null)?.message;
  return typeof inner === 'string' ? inner : JSON.stringify(message);
}
