import { Module } from '@nestjs/common';
import { DocsAssets } from './docs-assets.js';
import { DocsController } from './docs.controller.js';
import { MergedOpenApi } from './merged-openapi.js';

@Module({ controllers: [DocsController], providers: [DocsAssets, MergedOpenApi] })
export class DocsModule {}
