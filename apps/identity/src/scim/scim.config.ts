import type { BodyRule, DomainError, ErrorBodyRule } from '@rmm/service-kit';

export const SCIM_MEDIA_TYPE = 'application/scim+json';
export const SCIM_CONTENT_TYPE = `${SCIM_MEDIA_TYPE}; charset=utf-8`;

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** Resources of a page. */
export const MAX_RESULTS = 100;
/** Users of a group. */
export const MAX_GROUP_MEMBERS = 10_000;
/** Operations of one PATCH. */
export const MAX_OPERATIONS = 1_000;

const SCIM_TYPES: Readonly<Record<string, string>> = {
  malformed_json: 'invalidSyntax',
  validation_failed: 'invalidValue',
};

/** Returns the body of RFC 7644, section 3.12, with the fields of every error. @see docs/reference/scim.md */
export function toScimErrorBody(error: DomainError, requestId: string): object {
  const { scimType = SCIM_TYPES[error.code] } = (error.extras ?? {}) as { scimType?: string };
  const detail = error.sentence ?? error.error;
  return {
    schemas: [ERROR_SCHEMA],
    status: String(error.status),
    ...(scimType && { scimType }),
    detail,
    ...{ error: error.error, message: detail, code: error.code, requestId },
  };
}

/** Errors before the router have the form of the others. */
export const SCIM_ERRORS: readonly ErrorBodyRule[] = [
  { path: '/scim', toBody: toScimErrorBody, contentType: SCIM_CONTENT_TYPE },
];

export const SCIM_BODY: BodyRule = {
  path: '/scim',
  limitBytes: 1024 * 1024,
  contentTypes: [SCIM_MEDIA_TYPE, 'application/json'],
};
