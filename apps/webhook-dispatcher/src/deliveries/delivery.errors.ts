import { BadRequestError, NotFoundError } from '@rmm/service-kit';

export class DeliveryNotFound extends NotFoundError {
  constructor() {
    super('Delivery');
  }
}

export class DeliveryNotFailed extends BadRequestError {
  override code = 'delivery_not_failed';
  override error = 'Only failed deliveries can be retried';
}
