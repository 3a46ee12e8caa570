import type { DomainError } from '@rmm/errors';

/** Replaces a body that could not be parsed, until the caller is authenticated and the validation pipe refuses it. */
export class UnreadableBody {
  constructor(readonly reason: DomainError) {}
}
