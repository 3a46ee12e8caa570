import { BadRequestError, ConflictError, UpstreamError } from '@rmm/service-kit';

/** The provider has no companies. */
export class PsaListingUnsupported extends BadRequestError {
  override code = 'psa_listing_unsupported';
  override error = 'This provider has no companies to list';
}

/** A credential that requests need is missing. */
export class PsaCredentialsIncomplete extends BadRequestError {
  override code = 'psa_credentials_incomplete';

  constructor(missing: readonly string[]) {
    super(`The connection lacks ${missing.join(', ')}`);
  }
}

export class PsaConnectionPaused extends ConflictError {
  override code = 'psa_connection_paused';
  override error = 'The connection is paused';
}

export class PsaConnectionLimitExceeded extends ConflictError {
  override code = 'psa_connection_limit_reached';
  override error = 'The owner has the most connections that are allowed';
}

/** 502: our own rules refused the request or what the PSA asked for: a private address, a redirect, another origin. */
export class PsaRequestRefused extends UpstreamError {
  override code = 'psa_request_refused';
}

/** 502: the PSA failed, or sent something unusable. */
export class PsaFailed extends UpstreamError {}

/** 502: the PSA refused the credentials; the connection gets the status `error`. */
export class PsaCredentialsRejected extends PsaFailed {}
