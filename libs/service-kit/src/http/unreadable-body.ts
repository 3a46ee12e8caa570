import type { DomainError } from '../errors/domain-error.js';

/**
 * Stands in `request.body` for a body that could not be read: the credential is asked first, the body complained about later.
 * @see CONTRACT.md 1.7, the order of the pipeline
 */
export class UnreadableBody {
  constructor(readonly reason: DomainError) {}
}
