import { Module } from '@nestjs/common';
import { KeyRecordsController } from './key-records.controller.js';
import { KeyRecordsService } from './key-records.service.js';

@Module({ controllers: [KeyRecordsController], providers: [KeyRecordsService] })
export class KeyRecordsModule {}
