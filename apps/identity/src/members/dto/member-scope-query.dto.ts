import { IsUuid } from '@rmm/validation';

/** Names whose members a call is about; the caller's own tenant when absent. */
export class MemberScopeQueryDto {
  @IsUuid({ optional: true, description: "Manage this organization's members" })
  orgId?: string;

  @IsUuid({ optional: true, description: 'For system callers' })
  partnerId?: string;
}
