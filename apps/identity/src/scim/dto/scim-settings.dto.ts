import { ApiProperty } from '@nestjs/swagger';
import { IsFlag, IsIsoDateTime, IsName, IsNestedList, IsUuid } from '@rmm/validation';

export class ScimRoleMappingDto {
  @IsName({ description: 'displayName of the group, in any case', example: 'RMM Technicians' })
  group!: string;

  @IsUuid({ description: 'A role of the organization that you may grant' })
  roleId!: string;
}

export class UpdateScimSettingsDto {
  @IsFlag({
    description:
      'A group gives the role with its name; an administrator of the identity provider can then give any role that you may',
  })
  groupsByName!: boolean;

  @IsNestedList(() => ScimRoleMappingDto, { max: 100, description: 'The first one with a group of the user applies' })
  roleMappings!: ScimRoleMappingDto[];
}

export class ScimSettingsDto {
  @ApiProperty({ format: 'uri', description: 'The address that the identity provider is configured with' })
  baseUrl: string;
  @ApiProperty({ description: 'Whether a group gives the role with its name' })
  groupsByName: boolean;
  @ApiProperty({
    type: [ScimRoleMappingDto],
    description: 'Role by group; the first one with a group of the user applies',
  })
  roleMappings: ScimRoleMappingDto[];
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'User whose permissions limit the roles that are given',
  })
  configuredBy: string | null;
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'The role of users without a group that gives one; set at the provider',
  })
  defaultRoleId: string | null;
}

export class ScimSettingsResponseDto {
  @ApiProperty({ type: ScimSettingsDto, description: 'The settings' })
  data: ScimSettingsDto;
}

export class CreateScimTokenDto {
  @IsName({ description: 'Name of the token' })
  name!: string;

  @IsIsoDateTime({ optional: true, description: 'At most 730 days from now; 365 days unless given' })
  expiresAt?: Date;
}

export class ScimTokenDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the token' })
  id: string;
  @ApiProperty({ description: 'Name of the token' })
  name: string;
  @ApiProperty({ example: 'scim_mPj2V4q', description: 'The first characters of the token' })
  tokenPrefix: string;
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'User who created the token' })
  createdBy: string | null;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the token expires; null: never',
  })
  expiresAt: string | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'To the minute' })
  lastUsedAt: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the token was created' })
  createdAt: string;
}

export class CreatedScimTokenDto extends ScimTokenDto {
  @ApiProperty({ description: 'Shown once' })
  token: string;
  @ApiProperty({ format: 'uri', description: 'Address that the identity provider is configured with' })
  baseUrl: string;
}

export class CreatedScimTokenResponseDto {
  @ApiProperty({ type: CreatedScimTokenDto, description: 'The token' })
  data: CreatedScimTokenDto;
}
