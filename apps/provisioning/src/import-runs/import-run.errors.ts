import { ConflictError, ForbiddenError, GoneError } from '@rmm/service-kit';
import type { ImportRunState } from './import-run.entity.js';

/** The run is in a state that does not allow the request. */
export class ImportRunStateConflict extends ConflictError {
  override code = 'import_run_state_conflict';

  constructor(state: ImportRunState) {
    super(`The import run is ${state.replaceAll('_', ' ')}`);
  }
}

/** The mapping names no column for a required field. */
export class ImportMappingIncomplete extends ConflictError {
  override code = 'import_mapping_incomplete';

  constructor(fields: readonly string[]) {
    super(`The mapping has no column for ${fields.join(' and ')}`);
  }
}

/** The time to undo the run has passed. */
export class ImportUndoExpired extends GoneError {
  override code = 'import_undo_expired';
  override error = 'The time to undo the import has passed';
}

/** Another request or replica changed the run; its chunk is rolled back. */
export class ImportLeaseLost extends Error {
  override name = 'ImportLeaseLost';
}

/** The run cannot go on, for a reason that its state shows. */
export class ImportRunFailed extends Error {
  override name = 'ImportRunFailed';

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** A run of organizations is of a user with access to the whole partner. */
export class FullPartnerAccessRequired extends ForbiddenError {}
