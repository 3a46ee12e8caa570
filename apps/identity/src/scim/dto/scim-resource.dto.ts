import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class ScimMetaDto {
  @ApiProperty({ example: 'User', description: 'Kind of the resource' })
  resourceType: string;
  @ApiProperty({ format: 'date-time', description: 'When the resource was created' })
  created: string;
  @ApiProperty({ format: 'date-time', description: 'When the resource was last changed' })
  lastModified: string;
  @ApiProperty({ format: 'uri', description: 'Address of the resource' })
  location: string;
}

export class ScimNameDto {
  @ApiPropertyOptional({ description: 'First name' })
  givenName?: string;
  @ApiPropertyOptional({ description: 'Last name' })
  familyName?: string;
  @ApiPropertyOptional({ description: 'Full name' })
  formatted?: string;
}

export class ScimEmailDto {
  @ApiProperty({ description: 'The address' })
  value: string;
  @ApiPropertyOptional({ example: 'work', description: 'Kind of the address' })
  type?: string;
  @ApiPropertyOptional({ description: 'Whether it is the main address' })
  primary?: boolean;
}

/** A group of a user, or a user of a group. */
export class ScimReferenceDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the referenced resource' })
  value: string;
  @ApiPropertyOptional({ description: 'Label' })
  display?: string;
  @ApiPropertyOptional({ format: 'uri', description: 'Address of the referenced resource' })
  $ref?: string;
}

/** `attributes` and `excludedAttributes` leave attributes out. */
export class ScimUserDto {
  @ApiProperty({ type: [String], description: 'URNs of the SCIM schemas' })
  schemas: string[];
  @ApiProperty({ format: 'uuid', description: 'Id of the user' })
  id: string;
  @ApiPropertyOptional({ description: 'Id of the user at the identity provider' })
  externalId?: string;
  @ApiPropertyOptional({ description: 'Sign-in name at the identity provider' })
  userName: string;
  @ApiPropertyOptional({ description: 'Full name of the user' })
  displayName?: string;
  @ApiPropertyOptional({ type: ScimNameDto, description: 'Name of the user' })
  name?: ScimNameDto;
  @ApiPropertyOptional({ description: 'Whether the user can sign in' })
  active: boolean;
  @ApiPropertyOptional({ type: [ScimEmailDto], description: 'E-mail addresses of the user' })
  emails: ScimEmailDto[];
  @ApiPropertyOptional({ type: [ScimReferenceDto], description: 'Groups of the user' })
  groups?: ScimReferenceDto[];
  @ApiPropertyOptional({ type: ScimMetaDto, description: 'Kind, times and address of the resource' })
  meta: ScimMetaDto;
}

export class ScimGroupDto {
  @ApiProperty({ type: [String], description: 'URNs of the SCIM schemas' })
  schemas: string[];
  @ApiProperty({ format: 'uuid', description: 'Id of the group' })
  id: string;
  @ApiPropertyOptional({ description: 'Id of the group at the identity provider' })
  externalId?: string;
  @ApiPropertyOptional({ description: 'Name of the group' })
  displayName: string;
  @ApiPropertyOptional({ type: [ScimReferenceDto], description: 'Users of the group' })
  members?: ScimReferenceDto[];
  @ApiPropertyOptional({ type: ScimMetaDto, description: 'Kind, times and address of the resource' })
  meta: ScimMetaDto;
}

export class ScimListResponseDto {
  @ApiProperty({ type: [String], description: 'URNs of the SCIM schemas' })
  schemas: string[];
  @ApiProperty({ type: 'integer', description: 'Number of matching resources' })
  totalResults: number;
  @ApiProperty({ type: 'integer', description: 'Position of the first resource of the page, from 1' })
  startIndex: number;
  @ApiProperty({ type: 'integer', description: 'Resources of this page' })
  itemsPerPage: number;
}

export class ScimUserListDto extends ScimListResponseDto {
  @ApiProperty({ type: [ScimUserDto], description: 'The resources of the page' })
  Resources: ScimUserDto[];
}

export class ScimGroupListDto extends ScimListResponseDto {
  @ApiProperty({ type: [ScimGroupDto], description: 'The resources of the page' })
  Resources: ScimGroupDto[];
}
