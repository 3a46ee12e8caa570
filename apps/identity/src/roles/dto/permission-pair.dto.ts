import { IsName } from '@rmm/validation';

export class PermissionPairDto {
  @IsName({ max: 100, example: 'tickets' })
  resource!: string;

  @IsName({ max: 50, example: 'write' })
  action!: string;
}

export const MAX_PERMISSIONS = 500;
