import { Body, Controller, Delete, Get, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { sortedPageOf, type SortedPage } from '../../lists/dto/sorted-page.dto.js';
import { DeviceGroupsService } from './device-groups.service.js';
import { CreateDeviceGroupDto } from './dto/create-device-group.dto.js';
import { DeviceGroupDto } from './dto/device-group.dto.js';
import { ListDeviceGroupsDto } from './dto/list-device-groups.dto.js';
import { ReplaceGroupDevicesDto } from './dto/replace-group-devices.dto.js';
import { UpdateDeviceGroupDto } from './dto/update-device-group.dto.js';

const DeviceGroupTags = () => EntityTagged<DeviceGroupDto>('deviceCount');

@ApiTags('Device groups')
@Controller('orgs/device-groups')
export class DeviceGroupsController {
  constructor(private readonly groups: DeviceGroupsService) {}

  @Get()
  @RequirePermission('devices:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({ summary: 'List device groups', description: 'Newest first by default.' })
  @ApiOkResponse({ type: sortedPageOf(DeviceGroupDto) })
  list(@CurrentCaller() caller: Caller, @Query() query: ListDeviceGroupsDto): Promise<SortedPage<DeviceGroupDto>> {
    return this.groups.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('devices:read')
  @DeviceGroupTags()
  @ApiOperation({ summary: 'Get a device group' })
  @ApiOkResponse({ type: DeviceGroupDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device group') id: string): Promise<DeviceGroupDto> {
    return this.groups.get(caller, id);
  }

  @Post()
  @RequirePermission('devices:write')
  @DeviceGroupTags()
  @ErrorCodes({ 409: ['device_group_limit_reached', 'device_group_name_conflict'] })
  @ApiOperation({ summary: 'Create a device group', description: 'At most 500 groups per organization.' })
  @ApiCreatedResponse({ type: DeviceGroupDto })
  create(@CurrentCaller() caller: Caller, @Body() dto: CreateDeviceGroupDto): Promise<DeviceGroupDto> {
    return this.groups.create(caller, dto);
  }

  @Patch(':id')
  @RequirePermission('devices:write')
  @DeviceGroupTags()
  @ErrorCodes({ 409: ['device_group_name_conflict'] })
  @ApiOperation({ summary: 'Update a device group', description: 'Absent fields stay as they are; null clears them.' })
  @ApiOkResponse({ type: DeviceGroupDto })
  update(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Device group') id: string,
    @Body() dto: UpdateDeviceGroupDto,
  ): Promise<DeviceGroupDto> {
    return this.groups.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('devices:write')
  @DeviceGroupTags()
  @ApiOperation({
    summary: 'Delete a device group',
    description: 'Its devices stay. Members who are restricted to the group see them no longer.',
  })
  @ApiOkResponse({ type: DoneDto })
  delete(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device group') id: string): Promise<DoneDto> {
    return this.groups.delete(caller, id);
  }

  @Put(':id/devices')
  @RequirePermission('devices:write')
  @DeviceGroupTags()
  @ApiOperation({
    summary: 'Replace the devices of a device group',
    description: 'At most 1,000 devices, each in at most 50 groups; with a site, devices of this site only.',
  })
  @ApiOkResponse({ type: DeviceGroupDto })
  replaceDevices(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Device group') id: string,
    @Body() { deviceIds }: ReplaceGroupDevicesDto,
  ): Promise<DeviceGroupDto> {
    return this.groups.replaceDevices(caller, id, deviceIds);
  }
}
