import { Body, Controller, Delete, Get, Patch, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { DoneDto, EntityTagged, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { sortedPageOf, type SortedPage } from '../lists/dto/sorted-page.dto.js';
import { DeviceChangesService } from './changes/device-changes.service.js';
import { DecommissioningService } from './decommissioning/decommissioning.service.js';
import { DevicesService } from './devices.service.js';
import { DeviceDto } from './dto/device.dto.js';
import { ListDevicesDto } from './dto/list-devices.dto.js';
import { UpdateDeviceDto } from './dto/update-device.dto.js';

const DeviceTags = () =>
  EntityTagged<DeviceDto>(
    'agentVersion',
    'architecture',
    'hardware',
    'hostname',
    'lastSeenAt',
    'metrics',
    'osVersion',
    'status',
  );

@ApiTags('Devices')
@ErrorCodes({ 400: ['invalid_cursor'] })
@Controller('devices')
export class DevicesController {
  constructor(
    private readonly devices: DevicesService,
    private readonly changes: DeviceChangesService,
    private readonly decommissioning: DecommissioningService,
  ) {}

  @Get()
  @RequirePermission('devices:read')
  @ApiOperation({
    summary: 'List devices',
    description:
      'Newest first and without decommissioned devices by default. Send `cursor`, empty at first, to read page after page; numbered pages otherwise. A page ends early at about 1 MB.',
  })
  @ApiOkResponse({ type: sortedPageOf(DeviceDto) })
  list(@CurrentCaller() caller: Caller, @Query() query: ListDevicesDto): Promise<SortedPage<DeviceDto>> {
    return this.devices.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('devices:read')
  @DeviceTags()
  @ApiOperation({ summary: 'Get a device' })
  @ApiOkResponse({ type: DeviceDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<DeviceDto> {
    return this.devices.get(caller, id);
  }

  @Patch(':id')
  @RequirePermission('devices:write')
  @DeviceTags()
  @ErrorCodes({ 409: ['device_decommissioned'] })
  @ApiOperation({
    summary: 'Update a device',
    description:
      'Absent fields stay as they are; null clears them. A device that changes its site leaves the device groups of other sites. A decommissioned device cannot be changed.',
  })
  @ApiOkResponse({ type: DeviceDto })
  update(
    @CurrentCaller() caller: Caller,
    @UuidParam('id', 'Device') id: string,
    @Body() dto: UpdateDeviceDto,
  ): Promise<DeviceDto> {
    return this.changes.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('devices:delete')
  @DeviceTags()
  @ApiOperation({
    summary: 'Decommission a device',
    description:
      'Its agent token stops working at once and it no longer counts for the device limit. The record stays; a device that is already decommissioned stays as it is.',
  })
  @ApiOkResponse({ type: DoneDto })
  decommission(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<DoneDto> {
    return this.decommissioning.decommission(caller, id);
  }
}
