import { IsInteger } from '@rmm/validation';

export class RotateApiKeyDto {
  @IsInteger({
    description: 'How long the previous key also works; default 0: not at all',
    min: 0,
    max: 86_400,
    optional: true,
  })
  overlapSeconds?: number;
}
