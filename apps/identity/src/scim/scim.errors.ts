import { BadRequestError, ConflictError, ForbiddenError, NotFoundError } from '@rmm/service-kit';

/** Keywords of RFC 7644, section 3.12. */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany'
  | 'uniqueness';

/** 400 with the keyword of RFC 7644; the text is for the administrator of the identity provider. */
export class ScimBadRequest extends BadRequestError {
  override code = 'scim_bad_request';

  constructor(scimType: ScimType, text: string, options: { cause?: unknown } = {}) {
    super(text, { extras: { scimType }, cause: options.cause });
  }
}

/** Another resource of the provider has the value, or another account the address. */
export class ScimConflict extends ConflictError {
  override code = 'scim_uniqueness';

  constructor(text: string, options: { cause?: unknown } = {}) {
    super(text, { extras: { scimType: 'uniqueness' }, cause: options.cause });
  }
}

/** The account of the address may not be managed by this organization. */
export class ScimAccountRefused extends ForbiddenError {
  override code = 'scim_account_refused';
}

/** The user who configured the role may not grant it any more. */
export class ScimRoleNotGrantable extends ForbiddenError {
  override code = 'scim_role_not_grantable';
  override error = 'The user who configured the role of these members may not grant it';
}

export class ScimUserNotFound extends NotFoundError {
  constructor() {
    super('User');
  }
}

export class ScimGroupNotFound extends NotFoundError {
  constructor() {
    super('Group');
  }
}

/** SCIM is for the providers of organizations. */
export class ScimForOrganizationsOnly extends BadRequestError {
  override code = 'scim_organization_only';
  override error = 'SCIM is for identity providers of an organization';
}

/** Two tokens are enough to replace one by the other. */
export class TooManyScimTokens extends ConflictError {
  override code = 'too_many_scim_tokens';

  constructor(max: number) {
    super(`At most ${max} valid tokens for each provider`);
  }
}
