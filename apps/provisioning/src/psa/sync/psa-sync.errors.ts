import { ConflictError } from '@rmm/service-kit';

/** 409: the connection has no enabled sync. */
export class PsaSyncDisabled extends ConflictError {
  override code = 'psa_sync_disabled';
  override error = 'The sync of the connection is disabled';
}

/** Another replica has the run, or the sync was disabled meanwhile: what this one found is dropped. */
export class PsaSyncLeaseLost extends Error {
  override readonly name = 'PsaSyncLeaseLost';
}

/** The sync has nothing to do at present; it is tried again after its interval. */
export class PsaSyncSkipped extends Error {
  override readonly name = 'PsaSyncSkipped';

  constructor(
    readonly code: 'partner_inactive' | 'organization_inactive',
    message: string,
  ) {
    super(message);
  }
}
