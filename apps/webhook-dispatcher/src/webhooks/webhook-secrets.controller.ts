import { Body, Controller, Header, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { UuidParam } from '@rmm/service-kit';
import { RotateSecretDto } from './dto/rotate-secret.dto.js';
import { RotatedSecretDto } from './dto/rotated-secret.dto.js';
import { WebhookSecretsService } from './webhook-secrets.service.js';

/** @see CONTRACT.md 4.9 */
@ApiTags('Webhooks')
@Controller('webhooks/:id')
export class WebhookSecretsController {
  constructor(private readonly secrets: WebhookSecretsService) {}

  @Post('rotate-secret')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Replace the signing secret; the old one may sign beside it for up to a day' })
  @ApiOkResponse({ type: RotatedSecretDto })
  rotate(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Webhook') id: string,
    @Body() dto: RotateSecretDto,
  ): Promise<RotatedSecretDto> {
    return this.secrets.rotate(caller, id, dto);
  }
}
