import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type UserCaller } from '@rmm/access';
import { BulkDevicesService } from './bulk-devices.service.js';
import {
  BulkDecommissionDto,
  BulkGroupDto,
  BulkResponseDto,
  BulkSiteDto,
  BulkTagsDto,
} from './dto/bulk-devices.dto.js';

const RESULTS =
  'Up to 1,000 devices in one transaction. Each has its own result; a device that cannot be changed does not prevent the others. A repeated request changes nothing.';

/** @see docs/reference/provisioning.md#bulk-actions */
@ApiTags('Devices')
@Controller('devices/bulk')
export class BulkDevicesController {
  constructor(private readonly devices: BulkDevicesService) {}

  @Post('tags')
  @HttpCode(200)
  @RequirePermission('devices:write')
  @ApiOperation({ summary: 'Add and remove tags of devices', description: RESULTS })
  @ApiOkResponse({ type: BulkResponseDto })
  changeTags(@CurrentCaller() caller: UserCaller, @Body() dto: BulkTagsDto): Promise<BulkResponseDto> {
    return this.devices.changeTags(caller, dto);
  }

  @Post('site')
  @HttpCode(200)
  @RequirePermission('devices:write')
  @ApiOperation({ summary: 'Move devices to a site', description: RESULTS })
  @ApiOkResponse({ type: BulkResponseDto })
  moveToSite(@CurrentCaller() caller: UserCaller, @Body() dto: BulkSiteDto): Promise<BulkResponseDto> {
    return this.devices.moveToSite(caller, dto);
  }

  @Post('group')
  @HttpCode(200)
  @RequirePermission('devices:write')
  @ApiOperation({ summary: 'Add devices to a group or remove them', description: RESULTS })
  @ApiOkResponse({ type: BulkResponseDto })
  changeGroup(@CurrentCaller() caller: UserCaller, @Body() dto: BulkGroupDto): Promise<BulkResponseDto> {
    return this.devices.changeGroup(caller, dto);
  }

  @Post('decommission')
  @HttpCode(200)
  @RequirePermission('devices:delete')
  @ApiOperation({ summary: 'Decommission devices', description: RESULTS })
  @ApiOkResponse({ type: BulkResponseDto })
  decommission(@CurrentCaller() caller: UserCaller, @Body() dto: BulkDecommissionDto): Promise<BulkResponseDto> {
    return this.devices.decommission(caller, dto);
  }
}
