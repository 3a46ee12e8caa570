import { IsOpenObject, IsUuid } from '@rmm/validation';

export class PasskeyLoginDto {
  @IsOpenObject({ description: 'The JSON form of the result of `navigator.credentials.get`' })
  credential!: Record<string, unknown>;

  @IsUuid({ optional: true, description: 'Enters the membership in this organization instead of the one used last' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Enters the membership in this partner instead of the one used last' })
  partnerId?: string;
}
