import { AcceptsApiKey, CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { Body, Controller, Get, Head, Patch } from '@nestjs/common';
import { ApiBody, ApiExcludeEndpoint, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { UuidParam } from '@rmm/service-kit';
import { readCustomFieldPatch } from './custom-field-patch.js';
import { CustomFieldsService } from './custom-fields.service.js';
import { CUSTOM_FIELDS_BODY, CustomFieldsDto } from './dto/custom-fields.dto.js';

/** A surface of API keys: GET and PATCH, nothing else. @see SPEC.md 5.2 */
@ApiTags('Devices')
@Controller('devices/:id/custom-fields')
export class CustomFieldsController {
  constructor(private readonly fields: CustomFieldsService) {}

  /** Stands before `get`, which would answer HEAD too and let keys in. */
  @Head()
  @RequirePermission('devices:read')
  @ApiExcludeEndpoint()
  async head(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<CustomFieldsDto> {
    return { customFields: await this.fields.get(caller, id) };
  }

  @Get()
  @AcceptsApiKey('devices:read')
  @ApiOperation({ summary: 'The custom fields of a device' })
  @ApiOkResponse({ type: CustomFieldsDto })
  async get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<CustomFieldsDto> {
    return { customFields: await this.fields.get(caller, id) };
  }

  @Patch()
  @AcceptsApiKey('devices:write')
  @ApiOperation({ summary: 'Set and remove custom fields of a device; those not named stay' })
  @ApiBody(CUSTOM_FIELDS_BODY)
  @ApiOkResponse({ type: CustomFieldsDto })
  async patch(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Device') id: string,
    @Body() body: unknown,
  ): Promise<CustomFieldsDto> {
    return { customFields: await this.fields.merge(caller, id, readCustomFieldPatch(body)) };
  }
}
