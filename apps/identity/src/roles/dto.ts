import { IsFlag, IsName, IsNestedList, IsText, IsUuid } from '@rmm/service-kit';
import { AxisQueryDto } from '../members/dto/dto.js';

const NAME = { max: 100 };
const MAX_PERMISSIONS = 500;

export class PermissionPairDto {
  @IsName({ max: 100, example: 'tickets' })
  resource: string;

  @IsName({ max: 50, example: 'write' })
  action: string;
}

export class CreateRoleDto extends AxisQueryDto {
  @IsName(NAME)
  name: string;

  @IsText({ optional: true, nullable: true, max: 1000 })
  description?: string | null;

  @IsNestedList(() => PermissionPairDto, { optional: true, max: MAX_PERMISSIONS, description: "The role's own pairs" })
  permissions?: PermissionPairDto[];

  @IsUuid({ optional: true, nullable: true, description: 'Inherits all of this role and of its parents' })
  parentRoleId?: string | null;

  @IsFlag({ optional: true, description: 'Who holds it must have a second factor' })
  forceMfa?: boolean;
}

export class UpdateRoleDto extends AxisQueryDto {
  @IsName({ ...NAME, optional: true })
  name?: string;

  @IsText({ optional: true, nullable: true, max: 1000 })
  description?: string | null;

  @IsNestedList(() => PermissionPairDto, {
    optional: true,
    max: MAX_PERMISSIONS,
    description: 'Replaces the own pairs',
  })
  permissions?: PermissionPairDto[];

  @IsUuid({ optional: true, nullable: true, description: 'null: no parent' })
  parentRoleId?: string | null;

  @IsFlag({ optional: true })
  forceMfa?: boolean;
}

export class CloneRoleDto extends AxisQueryDto {
  @IsName(NAME)
  name: string;
}
