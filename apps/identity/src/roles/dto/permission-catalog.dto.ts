import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { GrantedPermissionDto } from './role.dto.js';

export class AvailablePermissionsDto {
  @ApiProperty({ type: [String], description: 'All resources' })
  resources: string[];
  @ApiProperty({ type: [String], description: 'All actions' })
  actions: string[];
}

export class CatalogEntryDto extends GrantedPermissionDto {
  @ApiPropertyOptional({ description: 'What the permission allows' })
  description?: string;
}

const labels = { type: 'object', additionalProperties: { type: 'string' } } as const;

/** Every assignable permission with its labels. @see docs/reference/users-and-roles.md */
export class PermissionCatalogDto {
  @ApiProperty({ type: [CatalogEntryDto], description: 'Every permission that can be granted' })
  permissions: CatalogEntryDto[];
  @ApiProperty({ ...labels, description: 'Labels of the resources' })
  resourceLabels: Record<string, string>;
  @ApiProperty({ ...labels, description: 'Labels of the actions' })
  actionLabels: Record<string, string>;
}
