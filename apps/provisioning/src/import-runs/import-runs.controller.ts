import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  Patch,
  Post,
  Query,
  type StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiProduces,
  ApiTags,
} from '@nestjs/swagger';
import { AllowScopes, CurrentCaller, Idempotent, RequireMfa, RequirePermission, type Caller } from '@rmm/access';
import { LimitConcurrency } from '@rmm/rate-limits';
import { ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { CONCURRENT_UPLOADS, importingTenant } from '../limits.js';
import { sortedPageOf, type SortedPage } from '../lists/dto/sorted-page.dto.js';
import { CommitImportRunDto } from './dto/commit-import-run.dto.js';
import { ImportChangesDto } from './dto/import-change.dto.js';
import { ImportRunRowsDto, ListImportChangesDto, ListImportRowsDto } from './dto/import-run-row.dto.js';
import { ImportRunDto } from './dto/import-run.dto.js';
import { IMPORT_UPLOAD_FORM, UpdateImportRunDto, UploadImportDto } from './dto/import-upload.dto.js';
import { ListImportRunsDto } from './dto/list-import-runs.dto.js';
import { ImportRunContentsService } from './import-run-contents.service.js';
import { ImportRunEventsService } from './import-run-events.service.js';
import { ImportRunsService } from './import-runs.service.js';
import { ImportUploadInterceptor, Upload } from './import-upload.interceptor.js';
import type { StoredUpload } from './import-upload.service.js';

const RunId = () => UuidParam('id', 'Import run');
const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  required: false,
  description: 'A repeated request gets the stored response',
};
const IDEMPOTENCY_CODES = {
  400: ['invalid_idempotency_key'],
  429: ['too_many_idempotency_keys'],
};
const IDEMPOTENCY_CONFLICTS = ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotent_response_not_stored'];

/** The permission for organizations in addition, and full partner access, depend on the kind. @see docs/reference/provisioning.md#import-runs */
@ApiTags('Import')
@Controller('imports')
@AllowScopes('partner', 'system')
export class ImportRunsController {
  constructor(
    private readonly imports: ImportRunsService,
    private readonly contents: ImportRunContentsService,
    private readonly streams: ImportRunEventsService,
  ) {}

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @UseInterceptors(ImportUploadInterceptor)
  @LimitConcurrency(CONCURRENT_UPLOADS, importingTenant) // the lowest decorator is the outermost interceptor
  @HttpCode(202)
  @ErrorCodes({ 403: ['permission_denied'], 413: ['payload_too_large'] })
  @ApiOperation({
    summary: 'Upload a file to import',
    description: 'CSV or XLSX. Its rows are read and previewed next; nothing is imported before the commit.',
  })
  @ApiConsumes('multipart/form-data')
  @ApiBody(IMPORT_UPLOAD_FORM)
  @ApiAcceptedResponse({ type: ImportRunDto })
  create(
    @CurrentCaller() caller: Caller,
    @Upload() upload: StoredUpload,
    @Body() dto: UploadImportDto,
  ): Promise<ImportRunDto> {
    return this.imports.create(caller, upload, dto);
  }

  @Get()
  @RequirePermission('organizations:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({
    summary: 'List import runs',
    description: 'Newest first: files, JSON imports, PSA imports. Members with selected organizations see their own.',
  })
  @ApiOkResponse({ type: sortedPageOf(ImportRunDto) })
  list(@CurrentCaller() caller: Caller, @Query() query: ListImportRunsDto): Promise<SortedPage<ImportRunDto>> {
    return this.imports.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Get an import run', description: 'Its state, counters and estimated end.' })
  @ApiOkResponse({ type: ImportRunDto })
  get(@CurrentCaller() caller: Caller, @RunId() id: string): Promise<ImportRunDto> {
    return this.imports.get(caller, id);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ErrorCodes({ 409: ['import_run_state_conflict', 'import_mapping_incomplete'] })
  @ApiOperation({
    summary: 'Map the columns of a file',
    description: 'Before its commit. Its rows are previewed again.',
  })
  @ApiOkResponse({ type: ImportRunDto })
  update(@CurrentCaller() caller: Caller, @RunId() id: string, @Body() dto: UpdateImportRunDto): Promise<ImportRunDto> {
    return this.imports.update(caller, id, dto);
  }

  @Get(':id/rows')
  @RequirePermission('organizations:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({ summary: 'List the rows of a file', description: 'In the order of the file, for 7 days.' })
  @ApiOkResponse({ type: ImportRunRowsDto })
  listRows(
    @CurrentCaller() caller: Caller,
    @RunId() id: string,
    @Query() query: ListImportRowsDto,
  ): Promise<ImportRunRowsDto> {
    return this.contents.listRows(caller, id, query);
  }

  @Get(':id/changes')
  @RequirePermission('organizations:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({
    summary: 'List what an import changed',
    description: 'After it was undone with the outcome of each change and the reason it was kept.',
  })
  @ApiOkResponse({ type: ImportChangesDto })
  listChanges(
    @CurrentCaller() caller: Caller,
    @RunId() id: string,
    @Query() query: ListImportChangesDto,
  ): Promise<ImportChangesDto> {
    return this.contents.listChanges(caller, id, query);
  }

  @Get(':id/errors')
  @RequirePermission('organizations:read')
  @ApiOperation({ summary: 'Download the refused rows', description: 'CSV with the original columns and the errors.' })
  @ApiProduces('text/csv')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary' } })
  errors(@CurrentCaller() caller: Caller, @RunId() id: string): Promise<StreamableFile> {
    return this.contents.exportErrors(caller, id);
  }

  @Get(':id/events')
  @Header('Cache-Control', 'no-store')
  @Header('X-Accel-Buffering', 'no')
  @RequirePermission('organizations:read')
  @ApiOperation({
    summary: 'Stream the progress of an import run',
    description: 'Server-sent events `progress` with the run; ends when no step of it runs.',
  })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({ schema: { type: 'string' } })
  events(@CurrentCaller() caller: Caller, @RunId() id: string): Promise<StreamableFile> {
    return this.streams.stream(caller, id);
  }

  @Post(':id/commit')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Idempotent()
  @HttpCode(202)
  @ApiHeader(IDEMPOTENCY_KEY)
  @ErrorCodes({
    ...IDEMPOTENCY_CODES,
    409: ['import_run_state_conflict', 'import_mapping_incomplete', ...IDEMPOTENCY_CONFLICTS],
  })
  @ApiOperation({
    summary: 'Commit a previewed file',
    description:
      'Each row is pinned to the annotation of the preview. Matches by name or address need a confirmation. A failed commit continues where it stopped.',
  })
  @ApiAcceptedResponse({ type: ImportRunDto })
  commit(@CurrentCaller() caller: Caller, @RunId() id: string, @Body() dto: CommitImportRunDto): Promise<ImportRunDto> {
    return this.imports.commit(caller, id, dto);
  }

  @Post(':id/cancel')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @HttpCode(200)
  @ErrorCodes({ 409: ['import_run_state_conflict'] })
  @ApiOperation({ summary: 'Cancel an import run', description: 'What it has imported stays and can be undone.' })
  @ApiOkResponse({ type: ImportRunDto })
  cancel(@CurrentCaller() caller: Caller, @RunId() id: string): Promise<ImportRunDto> {
    return this.imports.cancel(caller, id);
  }

  @Post(':id/undo')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @Idempotent()
  @HttpCode(202)
  @ApiHeader(IDEMPOTENCY_KEY)
  @ErrorCodes({
    ...IDEMPOTENCY_CODES,
    409: ['import_run_state_conflict', ...IDEMPOTENCY_CONFLICTS],
    410: ['import_undo_expired'],
  })
  @ApiOperation({
    summary: 'Undo an import',
    description:
      'Within 72 hours. Removes created records that are unchanged and unused and restores the former values of the others; the rest is listed by `/changes?outcome=kept`.',
  })
  @ApiAcceptedResponse({ type: ImportRunDto })
  undo(@CurrentCaller() caller: Caller, @RunId() id: string): Promise<ImportRunDto> {
    return this.imports.undo(caller, id);
  }
}
