import { Controller, Get, Header, UseFilters } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, PartnerKey, Uncharged } from '@rmm/access';
import type { PartnerKeyCaller } from '@rmm/access';
import { type LimitedRequest, RateLimit } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { ExportErrorFilter } from '../export/export-error.filter.js';
import { LIMITS } from '../limits.js';
import { CurrentKeyService } from './current-key.service.js';
import { CurrentKeyDto } from './dto/current-key.dto.js';

const keyOf = ({ caller }: LimitedRequest): string => (caller as PartnerKeyCaller | undefined)?.keyId ?? '';

@ApiTags('Partner interface')
@ErrorCodes({ 500: ['partner_export_failed'] })
@Controller('partner-api')
@UseFilters(ExportErrorFilter)
export class CurrentKeyController {
  constructor(private readonly currentKey: CurrentKeyService) {}

  @Get('me')
  @PartnerKey()
  @Uncharged()
  @RateLimit(LIMITS.readCurrentKey, keyOf)
  @Header('Cache-Control', 'no-store')
  @ApiOperation({
    summary: 'Show the key of the request',
    description: 'Its principal, scopes and limits. The request is not charged to the limit of the key.',
  })
  @ApiOkResponse({ type: CurrentKeyDto })
  get(@CurrentCaller() caller: PartnerKeyCaller): Promise<CurrentKeyDto> {
    return this.currentKey.describe(caller);
  }
}
