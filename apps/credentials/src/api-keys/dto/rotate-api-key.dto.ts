import { IsInteger } from '@rmm/service-kit';

export class RotateApiKeyDto {
  @IsInteger({
    description: 'How long the old key works beside the new one; default 0: not at all',
    min: 0,
    max: 86_400,
    optional: true,
  })
  overlapSeconds?: number;
}
