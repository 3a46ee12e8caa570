import { IsUuid } from '@rmm/validation';

/** Names one membership or invitation of the user. */
export class LeaveTenantDto {
  @IsUuid({ optional: true })
  orgId?: string;

  @IsUuid({ optional: true })
  partnerId?: string;
}
