import { ApiProperty } from '@nestjs/swagger';
import { GrantedPermissionDto } from './role.dto.js';

export class EffectivePermissionDto extends GrantedPermissionDto {
  @ApiProperty({ description: 'False when the role itself names the pair' })
  inherited: boolean;
  @ApiProperty({ format: 'uuid', description: 'Id of the role that gives the permission' })
  sourceRoleId: string;
  @ApiProperty({ description: 'Name of the role that gives the permission' })
  sourceRoleName: string;
}

export class InheritedRoleDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the role' })
  id: string;
  @ApiProperty({ description: 'Name of the role' })
  name: string;
}

/** All permissions of a role with their sources; the nearest source wins. */
export class EffectivePermissionsDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the role' })
  roleId: string;
  @ApiProperty({ description: 'Name of the role' })
  roleName: string;
  @ApiProperty({ type: [InheritedRoleDto], description: 'The role first, then its parents' })
  inheritanceChain: InheritedRoleDto[];
  @ApiProperty({ type: [EffectivePermissionDto], description: 'All permissions with their sources' })
  permissions: EffectivePermissionDto[];
}
