import { IsName, IsText, IsUuid } from '@rmm/validation';

export class CreateDeviceGroupDto {
  @IsUuid({ optional: true, description: 'Optional for organization callers' })
  orgId?: string;

  @IsUuid({ optional: true, nullable: true, description: 'Restricts the group to devices of a site' })
  siteId?: string | null;

  @IsName({ example: 'Servers' })
  name!: string;

  @IsText({ max: 1_000, optional: true, nullable: true })
  description?: string | null;
}
