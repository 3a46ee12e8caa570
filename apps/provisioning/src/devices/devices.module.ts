import { Module } from '@nestjs/common';
import { DevicesController } from './devices.controller.js';
import { DevicesRepository } from './devices.repository.js';
import { DevicesRpc } from './devices.rpc.js';
import { DevicesService } from './devices.service.js';

@Module({ controllers: [DevicesController, DevicesRpc], providers: [DevicesService, DevicesRepository] })
export class DevicesModule {}
