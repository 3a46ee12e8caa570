import { IsUuidList } from '@rmm/validation';

export class ReplaceGroupDevicesDto {
  @IsUuidList({ max: 1_000, description: 'All devices of the group; the others leave it' })
  deviceIds!: string[];
}
