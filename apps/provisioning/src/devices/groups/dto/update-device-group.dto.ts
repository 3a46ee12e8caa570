import { IsName, IsText, IsUuid } from '@rmm/validation';

/** An absent field stays as it is; null clears it. */
export class UpdateDeviceGroupDto {
  @IsUuid({ optional: true, nullable: true, description: 'The devices of the group must be of the site' })
  siteId?: string | null;

  @IsName({ optional: true, description: 'Name of the device group' })
  name?: string;

  @IsText({ max: 1_000, optional: true, nullable: true, description: 'Free text about the device group' })
  description?: string | null;
}
