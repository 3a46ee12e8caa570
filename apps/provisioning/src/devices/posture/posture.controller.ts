import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, type Caller } from '@rmm/access';
import { PostureDevicesDto } from './dto/posture-devices.dto.js';
import { PostureDevicesQueryDto, PostureSummaryQueryDto } from './dto/posture-query.dto.js';
import { PostureSummaryDto } from './dto/posture-summary.dto.js';
import { PostureService } from './posture.service.js';

@ApiTags('Devices')
@Controller('devices/management-posture')
export class PostureController {
  constructor(private readonly posture: PostureService) {}

  @Get('summary')
  @RequirePermission('devices:read')
  @ApiOperation({
    summary: 'Summarize the management tools found on devices',
    description:
      'Counts devices by organization for one category. A device that was never scanned is unknown, not clean; decommissioned devices do not count.',
  })
  @ApiOkResponse({ type: PostureSummaryDto })
  summary(@CurrentCaller() caller: Caller, @Query() query: PostureSummaryQueryDto): Promise<PostureSummaryDto> {
    return this.posture.summarize(caller, query);
  }

  @Get('devices')
  @RequirePermission('devices:read')
  @ApiOperation({ summary: 'List the devices with a management tool', description: 'Newest devices first.' })
  @ApiOkResponse({ type: PostureDevicesDto })
  devices(@CurrentCaller() caller: Caller, @Query() query: PostureDevicesQueryDto): Promise<PostureDevicesDto> {
    return this.posture.listDevices(caller, query);
  }
}
