import type { ScimGroupDto, ScimListResponseDto, ScimMetaDto, ScimUserDto } from './dto/scim-resource.dto.js';
import type { ScimGroup } from './scim-group.entity.js';
import type { MemberOfGroup } from './scim-groups.repository.js';
import type { ScimUser } from './scim-user.entity.js';
import type { GroupOfUser } from './scim-users.repository.js';
import { GROUP_SCHEMA, LIST_SCHEMA, USER_SCHEMA } from './scim.config.js';

const BASE_PATH = '/api/v1/scim/v2';

/** Returns the address that an identity provider is configured with. */
export const scimBaseUrl = (publicApiUrl: string): string => `${publicApiUrl.replace(/\/$/, '')}${BASE_PATH}`;

export function toScimUser(user: ScimUser, groups: readonly GroupOfUser[] | null, baseUrl: string): ScimUserDto {
  const { id, userName, externalId, displayName, givenName, familyName, email, emailType, active } = user;
  const formatted = [givenName, familyName].filter((part) => part !== null).join(' ');
  return {
    schemas: [USER_SCHEMA],
    id,
    ...(externalId !== null && { externalId }),
    userName,
    ...(displayName !== null && { displayName }),
    ...(formatted !== '' && {
      name: { ...(givenName !== null && { givenName }), ...(familyName !== null && { familyName }), formatted },
    }),
    active,
    emails: [{ value: email, type: emailType, primary: true }],
    ...(groups !== null && {
      groups: groups.map((group) => ({
        value: group.id,
        display: group.displayName,
        $ref: `${baseUrl}/Groups/${group.id}`,
      })),
    }),
    meta: metaOf('User', user, baseUrl),
  };
}

export function toScimGroup(group: ScimGroup, members: readonly MemberOfGroup[] | null, baseUrl: string): ScimGroupDto {
  const { id, displayName, externalId } = group;
  return {
    schemas: [GROUP_SCHEMA],
    id,
    ...(externalId !== null && { externalId }),
    displayName,
    ...(members !== null && {
      members: members.map((user) => ({ value: user.id, display: user.display, $ref: `${baseUrl}/Users/${user.id}` })),
    }),
    meta: metaOf('Group', group, baseUrl),
  };
}

export const toListResponse = <R>(
  resources: R[],
  { total, offset }: { total: number; offset: number },
): ScimListResponseDto & { Resources: R[] } => ({
  schemas: [LIST_SCHEMA],
  totalResults: total,
  startIndex: offset + 1,
  itemsPerPage: resources.length,
  Resources: resources,
});

function metaOf(
  resourceType: 'User' | 'Group',
  { id, createdAt, updatedAt }: Pick<ScimUser, 'id' | 'createdAt' | 'updatedAt'>,
  baseUrl: string,
): ScimMetaDto {
  return {
    resourceType,
    created: new Date(createdAt).toISOString(),
    lastModified: new Date(updatedAt).toISOString(),
    location: `${baseUrl}/${resourceType}s/${id}`,
  };
}
