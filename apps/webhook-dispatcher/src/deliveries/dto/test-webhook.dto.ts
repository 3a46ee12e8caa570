import { IsName, IsOpenObject } from '@rmm/validation';

export class TestWebhookDto {
  @IsName({ optional: true, description: 'A known event type; webhook.test by default' })
  event?: string;

  @IsOpenObject({ optional: true, description: 'The `data` of the body' })
  payload?: Record<string, unknown>;
}
