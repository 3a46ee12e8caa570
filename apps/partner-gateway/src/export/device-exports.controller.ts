import { Controller, Get, Query, UseFilters, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, PartnerKey } from '@rmm/access';
import type { PartnerKeyCaller } from '@rmm/access';
import { Compressed, ErrorCodes } from '@rmm/service-kit';
import {
  DeviceInventoryPageDto,
  DevicePageDto,
  DeviceRelationshipsPageDto,
  DeviceSoftwarePageDto,
} from './dto/device-records.dto.js';
import { ExportErrorFilter } from './export-error.filter.js';
import { ExportPageInterceptor } from './export-page.interceptor.js';
import { ExportParameters } from './export-parameters.decorator.js';
import type { ExportPage } from './export.service.js';
import { ExportService } from './export.service.js';
import { DEVICES, DEVICE_INVENTORY, DEVICE_RELATIONSHIPS, DEVICE_SOFTWARE } from './resources/device-resources.js';

type RawQuery = Record<string, unknown>;

/** Devices of a partner, what they are made of and what they are connected with. */
@ApiTags('Partner interface')
@ErrorCodes({
  400: ['invalid_partner_export_cursor', 'invalid_partner_export_pagination', 'invalid_partner_export_query'],
  500: ['partner_export_failed'],
})
@Controller('partner-api')
@UseFilters(ExportErrorFilter)
@Compressed()
@UseInterceptors(ExportPageInterceptor)
export class DeviceExportsController {
  constructor(private readonly exports: ExportService) {}

  @Get('devices')
  @PartnerKey('devices:read')
  @ExportParameters(DEVICES)
  @ApiOperation({ summary: 'List the devices of the partner' })
  @ApiOkResponse({ type: DevicePageDto })
  listDevices(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, DEVICES, query);
  }

  @Get('device-inventory')
  @PartnerKey('inventory:read')
  @ExportParameters(DEVICE_INVENTORY)
  @ApiOperation({ summary: 'List the hardware, disks and networks of devices and sites' })
  @ApiOkResponse({ type: DeviceInventoryPageDto })
  listInventory(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, DEVICE_INVENTORY, query);
  }

  @Get('device-software')
  @PartnerKey('inventory:read')
  @ExportParameters(DEVICE_SOFTWARE)
  @ApiOperation({ summary: 'List the software of devices' })
  @ApiOkResponse({ type: DeviceSoftwarePageDto })
  listSoftware(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, DEVICE_SOFTWARE, query);
  }

  @Get('device-relationships')
  @PartnerKey('inventory:read')
  @ExportParameters(DEVICE_RELATIONSHIPS)
  @ApiOperation({ summary: 'List the relationships of devices and sites' })
  @ApiOkResponse({ type: DeviceRelationshipsPageDto })
  listRelationships(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, DEVICE_RELATIONSHIPS, query);
  }
}
