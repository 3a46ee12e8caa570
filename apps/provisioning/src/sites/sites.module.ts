import { Module } from '@nestjs/common';
import { SitesController } from './sites.controller.js';
import { SitesRepository } from './sites.repository.js';
import { SitesRpc } from './sites.rpc.js';
import { SitesService } from './sites.service.js';

@Module({ controllers: [SitesController, SitesRpc], providers: [SitesService, SitesRepository] })
export class SitesModule {}
