import { IsName } from '@rmm/validation';

export class PermissionPairDto {
  @IsName({ max: 100, example: 'tickets', description: 'Resource of the permission' })
  resource!: string;

  @IsName({ max: 50, example: 'write', description: 'Action on the resource' })
  action!: string;
}

export const MAX_PERMISSIONS = 500;
