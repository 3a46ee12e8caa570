import { Body, Controller, Delete, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { sortedPageOf, type SortedPage } from '../../../lists/dto/sorted-page.dto.js';
import { CustomFieldDefinitionsService } from './custom-field-definitions.service.js';
import {
  CreateCustomFieldDefinitionDto,
  CustomFieldDefinitionDto,
  ListCustomFieldDefinitionsDto,
  UpdateCustomFieldDefinitionDto,
} from './dto/custom-field-definition.dto.js';

const DefinitionId = () => UuidParam('id', 'Custom field definition');

/** @see docs/reference/provisioning.md#custom-fields */
@ApiTags('Devices')
@Controller('devices/custom-field-definitions')
export class CustomFieldDefinitionsController {
  constructor(private readonly definitions: CustomFieldDefinitionsService) {}

  @Get()
  @RequirePermission('devices:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({
    summary: 'List custom field definitions',
    description: 'Newest first by default. Organization callers also see the definitions of their partner.',
  })
  @ApiOkResponse({ type: sortedPageOf(CustomFieldDefinitionDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @Query() query: ListCustomFieldDefinitionsDto,
  ): Promise<SortedPage<CustomFieldDefinitionDto>> {
    return this.definitions.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('devices:read')
  @ApiOperation({ summary: 'Get a custom field definition' })
  @ApiOkResponse({ type: CustomFieldDefinitionDto })
  get(@CurrentCaller() caller: UserCaller, @DefinitionId() id: string): Promise<CustomFieldDefinitionDto> {
    return this.definitions.get(caller, id);
  }

  @Post()
  @RequirePermission('organizations:write')
  @ErrorCodes({ 403: ['scope_not_allowed'], 409: ['custom_field_key_conflict', 'custom_field_limit_reached'] })
  @ApiOperation({
    summary: 'Create a custom field definition',
    description:
      'For the devices of an organization or of all organizations of the partner. The definition of an organization replaces that of its partner. Stored values stay as they are.',
  })
  @ApiCreatedResponse({ type: CustomFieldDefinitionDto })
  create(
    @CurrentCaller() caller: UserCaller,
    @Body() dto: CreateCustomFieldDefinitionDto,
  ): Promise<CustomFieldDefinitionDto> {
    return this.definitions.create(caller, dto);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @ErrorCodes({ 403: ['scope_not_allowed'] })
  @ApiOperation({
    summary: 'Update a custom field definition',
    description: 'Absent fields stay as they are. Stored values stay too, also those that are no longer allowed.',
  })
  @ApiOkResponse({ type: CustomFieldDefinitionDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @DefinitionId() id: string,
    @Body() dto: UpdateCustomFieldDefinitionDto,
  ): Promise<CustomFieldDefinitionDto> {
    return this.definitions.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('organizations:write')
  @ErrorCodes({ 403: ['scope_not_allowed'] })
  @ApiOperation({ summary: 'Delete a custom field definition', description: 'The values of devices stay.' })
  @ApiOkResponse({ type: DoneDto })
  delete(@CurrentCaller() caller: UserCaller, @DefinitionId() id: string): Promise<DoneDto> {
    return this.definitions.delete(caller, id);
  }
}
