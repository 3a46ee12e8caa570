import { ApiProperty } from '@nestjs/swagger';
import { GrantedPermissionDto } from './role.dto.js';

export class EffectivePermissionDto extends GrantedPermissionDto {
  @ApiProperty({ description: 'False when the role itself names the pair' })
  inherited: boolean;
  @ApiProperty({ format: 'uuid' })
  sourceRoleId: string;
  @ApiProperty()
  sourceRoleName: string;
}

export class InheritedRoleDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty()
  name: string;
}

/** All permissions of a role with their sources; the nearest source wins. */
export class EffectivePermissionsDto {
  @ApiProperty({ format: 'uuid' })
  roleId: string;
  @ApiProperty()
  roleName: string;
  @ApiProperty({ type: [InheritedRoleDto], description: 'The role first, then its parents' })
  inheritanceChain: InheritedRoleDto[];
  @ApiProperty({ type: [EffectivePermissionDto] })
  permissions: EffectivePermissionDto[];
}
