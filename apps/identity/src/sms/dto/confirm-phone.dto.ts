import { IsText } from '@rmm/validation';
import { VerifyPhoneDto } from './verify-phone.dto.js';

export class ConfirmPhoneDto extends VerifyPhoneDto {
  @IsText({ min: 1, max: 64, example: '123456', description: 'Code of the text message' })
  code!: string;
}
