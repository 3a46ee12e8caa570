import { IsText } from '@rmm/validation';
import type { WebhookHeader } from '../webhook-headers.policy.js';

export class WebhookHeaderDto implements WebhookHeader {
  @IsText({ min: 1, max: 255, description: 'A header name (RFC 9110); the names that deliveries use are reserved' })
  key!: string;

  @IsText({
    max: 4_096,
    description: 'Without control characters; masked in responses when the name suggests a secret',
  })
  value!: string;
}
