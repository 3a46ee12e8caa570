import { IsName } from '@rmm/validation';

export class RequestErasureDto {
  @IsName({ max: 110, description: 'The slug of the organization, as confirmation', example: 'acme-dental' })
  slug!: string;
}
