import { Body, Controller, Get, Head, Header, Param, Post } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExcludeEndpoint,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentCaller, RequirePermission, SignedIn, type UserCaller } from '@rmm/access';
import { ErrorCodes, MethodNotAllowedError } from '@rmm/service-kit';
import { DeviceProvisioningService } from './device-provisioning.service.js';
import { FetchedDeviceDto, ProvisionDeviceDto, ProvisionedDeviceDto } from './dto/provision-device.dto.js';

@ApiTags('Devices')
@Controller('devices/provision')
export class DeviceProvisioningController {
  constructor(private readonly provisioning: DeviceProvisioningService) {}

  @Post()
  @RequirePermission('devices:write')
  @Header('Cache-Control', 'no-store')
  @ErrorCodes({ 403: ['device_limit_reached'], 409: ['hostname_collision'] })
  @ApiOperation({
    summary: 'Provision a device',
    description:
      'Creates a device with the status `pending` until its first heartbeat. The response has a URL that returns the identity of its agent once, within 5 minutes.',
  })
  @ApiCreatedResponse({ type: ProvisionedDeviceDto })
  provision(@CurrentCaller() caller: UserCaller, @Body() dto: ProvisionDeviceDto): Promise<ProvisionedDeviceDto> {
    return this.provisioning.provision(caller, dto);
  }

  /** Declared before `fetch`, which would also serve HEAD: the token would be used and the identity lost. */
  @Head('fetch/:token')
  @SignedIn()
  @ApiExcludeEndpoint()
  head(): void {
    throw new MethodNotAllowedError();
  }

  @Get('fetch/:token')
  @SignedIn()
  @Header('Cache-Control', 'no-store')
  @ErrorCodes({ 400: ['validation_failed'], 410: ['gone'] })
  @ApiParam({ name: 'token', type: String, description: 'Token of the URL that the response to the creation has' })
  @ApiOperation({
    summary: 'Fetch the identity of a provisioned device',
    description: 'Works once. A used, unknown or foreign token is 404, an expired one 410, a malformed one 400.',
  })
  @ApiOkResponse({ type: FetchedDeviceDto })
  fetch(@CurrentCaller() caller: UserCaller, @Param('token') token: string): Promise<FetchedDeviceDto> {
    return this.provisioning.fetch(caller, token);
  }
}
