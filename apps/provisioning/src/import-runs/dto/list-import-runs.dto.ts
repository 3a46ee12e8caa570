import { IsOneOf } from '@rmm/validation';
import { OrderedPageQueryDto } from '../../lists/dto/sorted-page-query.dto.js';
import { IMPORT_KINDS, IMPORT_STATES, type ImportKind, type ImportRunState } from '../import-run.entity.js';

export class ListImportRunsDto extends OrderedPageQueryDto {
  @IsOneOf(IMPORT_KINDS, { optional: true, description: 'Only those of this kind' })
  kind?: ImportKind;

  @IsOneOf(IMPORT_STATES, { optional: true, description: 'Only those in this state' })
  state?: ImportRunState;
}
