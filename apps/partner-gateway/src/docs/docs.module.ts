import { Module } from '@nestjs/common';
import { DocsAssetsService } from './docs-assets.service.js';
import { DocsController } from './docs.controller.js';
import { MergedOpenApiService } from './merged-openapi.service.js';

@Module({ controllers: [DocsController], providers: [DocsAssetsService, MergedOpenApiService] })
export class DocsModule {}
