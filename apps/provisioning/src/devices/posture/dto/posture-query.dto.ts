import { IsInteger, IsName, IsOneOf, IsUuid, PageQueryDto } from '@rmm/validation';
import {
  DETECTION_STATUSES,
  POSTURE_CATEGORIES,
  type DetectionStatus,
  type PostureCategory,
} from '../../reports/device-posture-product.entity.js';

export class PostureSummaryQueryDto {
  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;

  @IsOneOf(POSTURE_CATEGORIES, { optional: true, description: 'Category of the products' })
  category: PostureCategory = 'rmm';

  @IsInteger({ min: 1, max: 365, optional: true, description: 'Days after which a scan is stale' })
  stalenessDays = 7;
}

export class PostureDevicesQueryDto extends PageQueryDto {
  @IsInteger({ min: 1, max: 500, optional: true, description: 'Records per page' })
  override limit = 50;

  @IsName({ description: 'The name of a product, as the summary states it' })
  product!: string;

  @IsOneOf(POSTURE_CATEGORIES, { optional: true, description: 'Category of the product' })
  category: PostureCategory = 'rmm';

  @IsOneOf(DETECTION_STATUSES, { optional: true, description: 'Of the product on the device' })
  status?: DetectionStatus;

  @IsUuid({ optional: true, description: 'Only those of this organization' })
  orgId?: string;
}
