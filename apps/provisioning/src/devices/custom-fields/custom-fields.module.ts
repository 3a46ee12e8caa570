import { Module } from '@nestjs/common';
import { CustomFieldsController } from './custom-fields.controller.js';
import { CustomFieldsRepository } from './custom-fields.repository.js';
import { CustomFieldsService } from './custom-fields.service.js';

@Module({ controllers: [CustomFieldsController], providers: [CustomFieldsService, CustomFieldsRepository] })
export class CustomFieldsModule {}
