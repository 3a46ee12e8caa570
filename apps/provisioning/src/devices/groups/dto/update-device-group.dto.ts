import { IsName, IsText, IsUuid } from '@rmm/validation';

/** An absent field stays as it is; null clears it. */
export class UpdateDeviceGroupDto {
  @IsUuid({ optional: true, nullable: true, description: 'The devices of the group must be of the site' })
  siteId?: string | null;

  @IsName({ optional: true })
  name?: string;

  @IsText({ max: 1_000, optional: true, nullable: true })
  description?: string | null;
}
