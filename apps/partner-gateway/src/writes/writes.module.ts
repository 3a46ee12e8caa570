import { Module } from '@nestjs/common';
import { ExportModule } from '../export/export.module.js';
import { WritesController } from './writes.controller.js';
import { WritesService } from './writes.service.js';

@Module({ imports: [ExportModule], controllers: [WritesController], providers: [WritesService] })
export class WritesModule {}
