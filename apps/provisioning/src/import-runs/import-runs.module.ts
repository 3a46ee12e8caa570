import { Module } from '@nestjs/common';
import { ContactsModule } from '../contacts/contacts.module.js';
import { ImportModule } from '../import/import.module.js';
import { ActingUserService } from './acting-user.service.js';
import { FileRowsService } from './file-rows.service.js';
import { ImportFilesRepository } from './files/import-files.repository.js';
import { ImportChangesRepository } from './import-changes.repository.js';
import { ImportRunContentsService } from './import-run-contents.service.js';
import { ImportRunEventsService } from './import-run-events.service.js';
import { ImportRunRowsRepository } from './import-run-rows.repository.js';
import { ImportRunWorkerService } from './import-run-worker.service.js';
import { ImportRunsController } from './import-runs.controller.js';
import { ImportRunsRepository } from './import-runs.repository.js';
import { ImportRunsService } from './import-runs.service.js';
import { ImportUploadInterceptor } from './import-upload.interceptor.js';
import { ImportUploadService } from './import-upload.service.js';
import { ProcessImportRunsJob } from './process-import-runs.job.js';
import { PurgeImportRunsJob } from './purge-import-runs.job.js';
import { RowOrganizationsRepository } from './row-organizations.repository.js';
import { RunChunksService } from './run-chunks.service.js';
import { AnnotateRowsService } from './steps/annotate-rows.service.js';
import { CommitRowsService } from './steps/commit-rows.service.js';
import { ParseFileService } from './steps/parse-file.service.js';
import { OrganizationUseService } from './undo/organization-use.service.js';
import { UndoImportService } from './undo/undo-import.service.js';
import { UndoRepository } from './undo/undo.repository.js';

@Module({
  imports: [ImportModule, ContactsModule],
  controllers: [ImportRunsController],
  providers: [
    ImportRunsService,
    ImportRunContentsService,
    ImportRunEventsService,
    ImportUploadService,
    ImportUploadInterceptor,
    ImportRunWorkerService,
    ParseFileService,
    AnnotateRowsService,
    CommitRowsService,
    UndoImportService,
    OrganizationUseService,
    ActingUserService,
    FileRowsService,
    RunChunksService,
    ImportRunsRepository,
    ImportRunRowsRepository,
    RowOrganizationsRepository,
    ImportChangesRepository,
    ImportFilesRepository,
    UndoRepository,
    ProcessImportRunsJob,
    PurgeImportRunsJob,
  ],
})
export class ImportRunsModule {}
