import { HttpException, NotFoundException } from '@nestjs/common';
import { DomainError, ERROR_STATUS, type ErrorKind } from './domain-error.js';
import { ERROR_CLASSES, InternalError, NotFoundError, UnavailableError } from './errors.js';

/** Codes of network errors of any library: a dependency cannot be connected. */
const UNREACHABLE = /^E(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN)$/;

/** The first kind of a status is its general one: 400 is `bad_request`. */
const KIND_OF_STATUS = new Map(
  (Object.entries(ERROR_STATUS) as [ErrorKind, number][])
    .filter(([kind]) => kind !== 'validation' && kind !== 'internal')
    .map(([kind, status]) => [status, kind]),
);

/** Translates anything thrown to an error the caller may read; unknown errors become `internal_error` with their cause. */
export function toDomainError(thrown: unknown): DomainError {
  if (thrown instanceof DomainError) return thrown;
  if (thrown instanceof URIError) return new NotFoundError(undefined, { cause: thrown });
  // Of the router, for an unknown route. Its message contains the path, and a key that was pasted into it.
  if (thrown instanceof NotFoundException) return new NotFoundError();
  const status = statusOf(thrown);
  const kind =
    status === undefined ? undefined : (KIND_OF_STATUS.get(status) ?? (status < 500 ? 'bad_request' : undefined));
  if (kind !== undefined) return new ERROR_CLASSES[kind](undefined, { cause: thrown });
  const { code } = (thrown ?? {}) as { code?: unknown };
  if (typeof code === 'string' && UNREACHABLE.test(code)) return new UnavailableError(undefined, { cause: thrown });
  return new InternalError(undefined, { cause: thrown });
}

function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const { status, expose } = (thrown ?? {}) as { status?: unknown; expose?: unknown };
  return typeof status === 'number' && expose === true ? status : undefined;
}
