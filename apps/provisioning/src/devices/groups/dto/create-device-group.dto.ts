import { IsName, IsText, IsUuid } from '@rmm/validation';

export class CreateDeviceGroupDto {
  @IsUuid({ optional: true, description: 'Optional for organization callers' })
  orgId?: string;

  @IsUuid({ optional: true, nullable: true, description: 'Restricts the group to devices of a site' })
  siteId?: string | null;

  @IsName({ example: 'Servers', description: 'Name of the device group' })
  name!: string;

  @IsText({ max: 1_000, optional: true, nullable: true, description: 'Free text about the device group' })
  description?: string | null;
}
