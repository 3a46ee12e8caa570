import { DomainError, type DomainErrorOptions, type ErrorKind } from './domain-error.js';
import { ERROR_CLASSES, InternalError } from './errors.js';

/** The JSON of an error that crosses NATS: everything a caller may read, nothing of the cause. */
export interface SerializedError extends Pick<
  DomainErrorOptions,
  'extras' | 'message' | 'fieldErrors' | 'retryAfterSeconds' | 'headers'
> {
  kind: ErrorKind;
  code: string;
  error: string;
}

/** Serializes an error; anything but a DomainError becomes `internal_error` without its cause. */
export function serializeError(error: unknown): SerializedError {
  const domain = error instanceof DomainError ? error : new InternalError();
  return {
    kind: domain.kind,
    code: domain.code,
    error: domain.error,
    message: domain.sentence,
    extras: domain.extras,
    fieldErrors: domain.fieldErrors,
    retryAfterSeconds: domain.retryAfterSeconds,
    headers: domain.headers,
  };
}

/** Returns the error of the remote service as an instance of the class of its kind, with its code and text. */
export function deserializeError(json: unknown): DomainError {
  const { kind, code, error, ...options } = (json ?? {}) as Partial<SerializedError>;
  const known = kind !== undefined && Object.hasOwn(ERROR_CLASSES, kind);
  if (!known || typeof code !== 'string' || typeof error !== 'string') {
    return new InternalError(undefined, { logDetails: { unreadableError: json } });
  }
  const instance = new ERROR_CLASSES[kind](error, options);
  instance.code = code;
  instance.error = error;
  return instance;
}
