import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { pagedOf, UuidParam, type Paged } from '@rmm/service-kit';
import { DevicesService } from './devices.service.js';
import { DeviceDto, toDeviceDto } from './dto/device.dto.js';
import { ListDevicesDto } from './dto/list-devices.dto.js';

@ApiTags('Devices')
@Controller('devices')
export class DevicesController {
  constructor(private readonly devices: DevicesService) {}

  @Get()
  @RequirePermission('devices:read')
  @ApiOkResponse({ type: pagedOf(DeviceDto) })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListDevicesDto): Promise<Paged<DeviceDto>> {
    const { data, pagination } = await this.devices.list(caller, query);
    return { data: data.map(toDeviceDto), pagination };
  }

  @Get(':id')
  @RequirePermission('devices:read')
  @ApiOkResponse({ type: DeviceDto })
  async get(@CurrentCaller() caller: Caller, @UuidParam('id', 'Device') id: string): Promise<DeviceDto> {
    return toDeviceDto(await this.devices.get(caller, id));
  }
}
