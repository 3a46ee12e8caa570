import { IsName, IsOneOf, IsUuid, IsWordList } from '@rmm/validation';

/** The statuses that a user may set; the others follow from heartbeats, enrollment and decommissioning. */
export const SETTABLE_STATUSES = ['maintenance', 'offline'] as const;
export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

/** An absent field stays as it is; null clears it. */
export class UpdateDeviceDto {
  @IsName({ optional: true, nullable: true, description: 'Name that users gave the device' })
  displayName?: string | null;

  @IsUuid({ optional: true, nullable: true, description: 'A site of the organization of the device' })
  siteId?: string | null;

  @IsWordList({ max: 50, maxLength: 50, optional: true, description: 'Words that the device is tagged with' })
  tags?: string[];

  @IsOneOf(SETTABLE_STATUSES, {
    optional: true,
    description: '`offline` also ends the maintenance; the next heartbeat then sets the device online',
  })
  status?: SettableStatus;
}
