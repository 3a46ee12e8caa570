import { IsName, IsOneOf, IsUuid } from '@rmm/validation';
import { SortedPageQueryDto } from '../../lists/dto/sorted-page-query.dto.js';
import { SCRIPT_LANGUAGES, SCRIPT_OS_TYPES, type ScriptLanguage, type ScriptOsType } from '../script.entity.js';
import { AVAILABILITIES, type Availability } from './create-script.dto.js';

export class ListScriptsDto extends SortedPageQueryDto {
  @IsUuid({ optional: true, description: 'Scripts that the organization owns' })
  orgId?: string;

  @IsOneOf(AVAILABILITIES, { optional: true, description: '`partner`: those of all organizations' })
  availability?: Availability;

  @IsName({ optional: true, description: 'Part of the name' })
  search?: string;

  @IsName({ max: 100, optional: true, description: 'Only those of this category' })
  category?: string;

  @IsOneOf(SCRIPT_LANGUAGES, { optional: true, description: 'Only those in this language' })
  language?: ScriptLanguage;

  @IsOneOf(SCRIPT_OS_TYPES, { optional: true, description: 'Only those for this operating system' })
  osType?: ScriptOsType;

  @IsName({ max: 50, optional: true, description: 'Only those with this tag' })
  tag?: string;
}
