import { EVENT_TYPES, WEBHOOK_TEST_EVENT } from '@rmm/contracts';
import { IsOneOf, ListPageQueryDto } from '@rmm/validation';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../delivery.entity.js';

export class ListDeliveriesDto extends ListPageQueryDto {
  @IsOneOf(DELIVERY_STATUSES, { optional: true, description: 'Only those in this state' })
  status?: DeliveryStatus;

  @IsOneOf([...EVENT_TYPES, WEBHOOK_TEST_EVENT], { optional: true, description: 'An event type' })
  event?: string;
}
