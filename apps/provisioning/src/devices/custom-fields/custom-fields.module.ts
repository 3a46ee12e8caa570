import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../../organizations/organizations.module.js';
import { CustomFieldsController } from './custom-fields.controller.js';
import { CustomFieldsRepository } from './custom-fields.repository.js';
import { CustomFieldsService } from './custom-fields.service.js';
import { CustomFieldDefinitionsController } from './definitions/custom-field-definitions.controller.js';
import { CustomFieldDefinitionsRepository } from './definitions/custom-field-definitions.repository.js';
import { CustomFieldDefinitionsService } from './definitions/custom-field-definitions.service.js';

/** Comes before the module of devices: `devices/custom-field-definitions` would else be the id of a device. */
@Module({
  imports: [OrganizationsModule],
  controllers: [CustomFieldDefinitionsController, CustomFieldsController],
  providers: [
    CustomFieldDefinitionsService,
    CustomFieldDefinitionsRepository,
    CustomFieldsService,
    CustomFieldsRepository,
  ],
  exports: [CustomFieldsService],
})
export class CustomFieldsModule {}
