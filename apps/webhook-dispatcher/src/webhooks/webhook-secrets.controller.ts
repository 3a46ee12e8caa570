import { Body, Controller, Header, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { RotatedSecretDto, RotateSecretDto } from './dto/rotate-secret.dto.js';
import { WebhookId } from './webhook-params.js';
import { WebhookSecretsService } from './webhook-secrets.service.js';

@ApiTags('Webhooks')
@Controller('webhooks/:id')
export class WebhookSecretsController {
  constructor(private readonly secrets: WebhookSecretsService) {}

  @Post('rotate-secret')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Rotate the signing secret of a webhook' })
  @ApiOkResponse({ type: RotatedSecretDto })
  rotate(
    @CurrentCaller() caller: UserCaller,
    @WebhookId() id: string,
    @Body() dto: RotateSecretDto,
  ): Promise<RotatedSecretDto> {
    return this.secrets.rotate(caller, id, dto);
  }
}
