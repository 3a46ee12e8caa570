import { Module, type DynamicModule, type Type } from '@nestjs/common';
import type { ErasingService } from '@rmm/contracts';
import { EraseOrganizationDataJob } from './erase-organization-data.job.js';
import { ERASING_SERVICE, ORGANIZATION_ERASER, type OrganizationEraser } from './organization-eraser.js';
import { OrganizationErasuresConsumer } from './organization-erasures.consumer.js';
import { OrganizationErasuresRepository } from './organization-erasures.repository.js';

/**
 * Erases data of organizations when provisioning publishes `organization.erased`. The service has the table
 * `organization_erasure` and an eraser of its own.
 * @see docs/reference/tenancy.md#erasure
 */
@Module({})
export class OrganizationErasureModule {
  static forService(service: ErasingService, eraser: Type<OrganizationEraser>): DynamicModule {
    return {
      module: OrganizationErasureModule,
      controllers: [OrganizationErasuresConsumer],
      providers: [
        EraseOrganizationDataJob,
        OrganizationErasuresRepository,
        { provide: ERASING_SERVICE, useValue: service },
        { provide: ORGANIZATION_ERASER, useClass: eraser },
      ],
    };
  }
}
