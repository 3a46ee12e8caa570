import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { BundleExportService } from './bundles/bundle-export.service.js';
import { BundleImportService } from './bundles/bundle-import.service.js';
import { ScriptBundlesController } from './bundles/script-bundles.controller.js';
import { ScriptOwnersService } from './script-owners.service.js';
import { ScriptVersionsRepository } from './script-versions.repository.js';
import { ScriptsController } from './scripts.controller.js';
import { ScriptsRepository } from './scripts.repository.js';
import { ScriptsService } from './scripts.service.js';
import { SystemLibraryController } from './system-library/system-library.controller.js';
import { SystemLibraryService } from './system-library/system-library.service.js';

@Module({
  imports: [OrganizationsModule],
  // `scripts/system-library` is registered before `scripts/:id`, which would match it.
  controllers: [SystemLibraryController, ScriptBundlesController, ScriptsController],
  providers: [
    ScriptsService,
    ScriptsRepository,
    ScriptVersionsRepository,
    ScriptOwnersService,
    BundleImportService,
    BundleExportService,
    SystemLibraryService,
  ],
  exports: [ScriptsRepository, ScriptsService],
})
export class ScriptsModule {}
