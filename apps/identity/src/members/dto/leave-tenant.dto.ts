import { IsUuid } from '@rmm/validation';

/** Names one membership or invitation of the user. */
export class LeaveTenantDto {
  @IsUuid({ optional: true, description: 'Organization to leave; absent: the whole partner' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Partner to leave' })
  partnerId?: string;
}
