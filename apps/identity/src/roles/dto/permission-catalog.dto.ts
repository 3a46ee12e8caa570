import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { GrantedPermissionDto } from './role.dto.js';

export class AvailablePermissionsDto {
  @ApiProperty({ type: [String] })
  resources: string[];
  @ApiProperty({ type: [String] })
  actions: string[];
}

export class CatalogEntryDto extends GrantedPermissionDto {
  @ApiPropertyOptional()
  description?: string;
}

const labels = { type: 'object', additionalProperties: { type: 'string' } } as const;

/** Every assignable permission with its labels. @see docs/reference/users-and-roles.md */
export class PermissionCatalogDto {
  @ApiProperty({ type: [CatalogEntryDto] })
  permissions: CatalogEntryDto[];
  @ApiProperty(labels)
  resourceLabels: Record<string, string>;
  @ApiProperty(labels)
  actionLabels: Record<string, string>;
}
