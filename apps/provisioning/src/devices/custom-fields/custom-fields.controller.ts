import { Body, Controller, Get, Head, Patch } from '@nestjs/common';
import { ApiBody, ApiExcludeEndpoint, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AcceptsApiKey, CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { UuidParam } from '@rmm/validation';
import { CustomFieldsService } from './custom-fields.service.js';
import { CUSTOM_FIELDS_BODY, CustomFieldsDto } from './dto/custom-fields.dto.js';

/** Accepts API keys for GET and PATCH. @see docs/reference/keys.md */
@ApiTags('Devices')
@Controller('devices/:id/custom-fields')
export class CustomFieldsController {
  constructor(private readonly fields: CustomFieldsService) {}

  /** Declared before `get`, which would also serve HEAD and would then accept API keys for it. */
  @Head()
  @RequirePermission('devices:read')
  @ApiExcludeEndpoint()
  head(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<CustomFieldsDto> {
    return this.fields.get(caller, id);
  }

  @Get()
  @AcceptsApiKey('devices:read')
  @ApiOperation({ summary: 'Get the custom fields of a device' })
  @ApiOkResponse({ type: CustomFieldsDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<CustomFieldsDto> {
    return this.fields.get(caller, id);
  }

  @Patch()
  @AcceptsApiKey('devices:write')
  @ApiOperation({
    summary: 'Update custom fields of a device',
    description: 'Sets the given fields; null removes a field. Other fields stay as they are.',
  })
  @ApiBody(CUSTOM_FIELDS_BODY)
  @ApiOkResponse({ type: CustomFieldsDto })
  patch(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Device') id: string,
    @Body() body: unknown,
  ): Promise<CustomFieldsDto> {
    return this.fields.merge(caller, id, body);
  }
}
