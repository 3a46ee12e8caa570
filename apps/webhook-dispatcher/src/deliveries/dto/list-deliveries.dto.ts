import { IsName, IsOneOf, PageQueryDto } from '@rmm/service-kit';
import { DELIVERY_STATUSES, type DeliveryStatus } from './delivery.dto.js';

export class ListDeliveriesDto extends PageQueryDto {
  @IsOneOf(DELIVERY_STATUSES, { optional: true })
  status?: DeliveryStatus;

  @IsName({ optional: true, description: 'An event type' })
  event?: string;
}
