import { IsOneOf, IsUuid } from '@rmm/validation';
import { ScriptFieldsDto } from './script-fields.dto.js';

export const AVAILABILITIES = ['org', 'partner'] as const;
export type Availability = (typeof AVAILABILITIES)[number];

const availability = {
  optional: true,
  description: '`org` by default; `partner` for all organizations, which needs access to all of them',
};
const orgId = { optional: true, description: 'Required for `org` in partner and system scope' };
const partnerId = { optional: true, description: 'Required for `partner` in system scope' };

/** The owner of a new script, by its availability. */
export class ScriptTargetDto {
  @IsOneOf(AVAILABILITIES, availability)
  availability?: Availability;

  @IsUuid(orgId)
  orgId?: string;

  @IsUuid(partnerId)
  partnerId?: string;
}

export class CreateScriptDto extends ScriptFieldsDto implements ScriptTargetDto {
  @IsOneOf(AVAILABILITIES, availability)
  availability?: Availability;

  @IsUuid(orgId)
  orgId?: string;

  @IsUuid(partnerId)
  partnerId?: string;
}
