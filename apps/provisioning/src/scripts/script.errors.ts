import { BadRequestError, ConflictError } from '@rmm/service-kit';

/** 409: a script that is available in the same place has this name. */
export class ScriptNameTaken extends ConflictError {
  override code = 'name_taken';
  override error = 'A script with this name exists';
}

export class ScriptLimitExceeded extends ConflictError {
  override code = 'script_limit_reached';
  override error = 'The owner has the most scripts that are allowed';
}

export class UnsupportedBundleVersion extends BadRequestError {
  override code = 'unsupported_bundle_version';
  override error = 'bundleVersion must be 1';
}
