import { IsInteger, IsText } from '@rmm/service-kit';

export class RotateSecretDto {
  @IsText({ min: 1, max: 255, optional: true, description: 'Left out: one is generated and shown this once' })
  secret?: string;

  @IsInteger({
    min: 0,
    max: 86_400,
    optional: true,
    description: 'How long deliveries carry the old signature as well; default 86400, 0: not at all',
  })
  overlapSeconds?: number;
}
