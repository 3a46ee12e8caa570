import { IsText } from '@rmm/service-kit';
import type { WebhookHeader } from '../webhook-headers.js';

export class WebhookHeaderDto implements WebhookHeader {
  @IsText({ min: 1, max: 255, description: 'A header name of RFC 9110; the standard ones are reserved' })
  key!: string;

  @IsText({ max: 4_096, description: 'Without control characters; shown masked where the name sounds like a secret' })
  value!: string;
}
