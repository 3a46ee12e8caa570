import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { UuidParam } from '@rmm/validation';
import { DevicesService } from './devices.service.js';
import { DeviceListDto } from './dto/device-list.dto.js';
import { DeviceDto } from './dto/device.dto.js';
import { ListDevicesDto } from './dto/list-devices.dto.js';

@ApiTags('Devices')
@Controller('devices')
export class DevicesController {
  constructor(private readonly devices: DevicesService) {}

  @Get()
  @RequirePermission('devices:read')
  @ApiOperation({
    summary: 'List devices',
    description:
      'Newest first and without decommissioned devices by default. Send `cursor`, empty at first, to read page after page; numbered pages otherwise. A page ends early at about 1 MB.',
  })
  @ApiOkResponse({ type: DeviceListDto })
  list(@CurrentCaller() caller: Caller, @Query() query: ListDevicesDto): Promise<DeviceListDto> {
    return this.devices.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('devices:read')
  @ApiOperation({ summary: 'Get a device' })
  @ApiOkResponse({ type: DeviceDto })
  get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<DeviceDto> {
    return this.devices.get(caller, id);
  }
}
