import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { DeviceDto } from '../dto/device.dto.js';
import { DeviceDuplicatesService } from './device-duplicates.service.js';
import { DuplicatesResponseDto, FindDuplicatesDto, MergeDevicesDto } from './dto/device-duplicates.dto.js';

/** Comes before the controller of devices: `devices/duplicates` would else be the id of a device. */
@ApiTags('Devices')
@Controller('devices')
export class DeviceDuplicatesController {
  constructor(private readonly duplicates: DeviceDuplicatesService) {}

  @Get('duplicates')
  @RequirePermission('devices:read')
  @ApiOperation({
    summary: 'Find devices of one machine',
    description:
      'The devices of an organization that report the same serial number or the same address of their main network adapter. Placeholders of vendors do not count.',
  })
  @ApiOkResponse({ type: DuplicatesResponseDto })
  find(@CurrentCaller() caller: UserCaller, @Query() query: FindDuplicatesDto): Promise<DuplicatesResponseDto> {
    return this.duplicates.find(caller, query);
  }

  @Post(':id/merge')
  @HttpCode(200)
  @RequirePermission('devices:write', 'devices:delete')
  @ErrorCodes({ 409: ['device_decommissioned'] })
  @ApiOperation({
    summary: 'Merge a duplicate into a device',
    description:
      'The device gets the tags, custom fields and groups that only the duplicate has, and its display name and site if it has none. The duplicate is decommissioned.',
  })
  @ApiOkResponse({ type: DeviceDto })
  merge(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Device') id: string,
    @Body() { duplicateId }: MergeDevicesDto,
  ): Promise<DeviceDto> {
    return this.duplicates.merge(caller, id, duplicateId);
  }
}
