import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequireMfa, RequirePermission, type UserCaller } from '@rmm/access';
import { RateLimit } from '@rmm/rate-limits';
import { DoneDto, ErrorCodes } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { LIMITS } from '../limits.js';
import { sortedPageOf, type SortedPage } from '../lists/dto/sorted-page.dto.js';
import {
  CreatePsaConnectionDto,
  ListPsaConnectionsDto,
  PsaConnectionDto,
  PsaConnectionEnvelopeDto,
  PsaTestResultDto,
  UpdatePsaConnectionDto,
} from './dto/psa-connection.dto.js';
import { PsaConnectionTestService } from './psa-connection-test.service.js';
import { PsaConnectionsService } from './psa-connections.service.js';

const ConnectionId = () => UuidParam('id', 'PSA connection');

/** @see docs/reference/provisioning.md#psa */
@ApiTags('PSA')
@Controller('psa/connections')
export class PsaConnectionsController {
  constructor(
    private readonly connections: PsaConnectionsService,
    private readonly tests: PsaConnectionTestService,
  ) {}

  @Get()
  @RequirePermission('organizations:read')
  @ErrorCodes({ 400: ['invalid_cursor'] })
  @ApiOperation({ summary: 'List PSA connections', description: 'Newest first by default, without credentials.' })
  @ApiOkResponse({ type: sortedPageOf(PsaConnectionDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @Query() query: ListPsaConnectionsDto,
  ): Promise<SortedPage<PsaConnectionDto>> {
    return this.connections.list(caller, query);
  }

  @Get(':id')
  @RequirePermission('organizations:read')
  @ApiOperation({
    summary: 'Get a PSA connection',
    description: 'Callers who may change it also see its public credentials, and which of the secret ones it has.',
  })
  @ApiOkResponse({ type: PsaConnectionEnvelopeDto })
  get(@CurrentCaller() caller: UserCaller, @ConnectionId() id: string): Promise<PsaConnectionEnvelopeDto> {
    return this.connections.get(caller, id);
  }

  @Post()
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ErrorCodes({ 403: ['scope_not_allowed'], 409: ['psa_connection_limit_reached'] })
  @ApiOperation({
    summary: 'Create a PSA connection',
    description: 'Secret credentials are sealed and never returned.',
  })
  @ApiCreatedResponse({ type: PsaConnectionDto })
  create(@CurrentCaller() caller: UserCaller, @Body() dto: CreatePsaConnectionDto): Promise<PsaConnectionDto> {
    return this.connections.create(caller, dto);
  }

  @Patch(':id')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ErrorCodes({ 403: ['scope_not_allowed'] })
  @ApiOperation({ summary: 'Update a PSA connection', description: 'Absent fields stay as they are.' })
  @ApiOkResponse({ type: PsaConnectionDto })
  update(
    @CurrentCaller() caller: UserCaller,
    @ConnectionId() id: string,
    @Body() dto: UpdatePsaConnectionDto,
  ): Promise<PsaConnectionDto> {
    return this.connections.update(caller, id, dto);
  }

  @Delete(':id')
  @RequirePermission('organizations:write')
  @RequireMfa()
  @ErrorCodes({ 403: ['scope_not_allowed'] })
  @ApiOperation({
    summary: 'Delete a PSA connection',
    description: 'Also deletes the links of organizations to its companies; the organizations stay.',
  })
  @ApiOkResponse({ type: DoneDto })
  delete(@CurrentCaller() caller: UserCaller, @ConnectionId() id: string): Promise<DoneDto> {
    return this.connections.delete(caller, id);
  }

  @Post(':id/test')
  @HttpCode(200)
  @RequirePermission('organizations:write')
  @RequireMfa()
  @RateLimit(LIMITS.psaTest, 'user')
  @ErrorCodes({ 403: ['scope_not_allowed'] })
  @ApiOperation({
    summary: 'Test a PSA connection',
    description: 'Reads the first page of its companies, and sets its status.',
  })
  @ApiOkResponse({ type: PsaTestResultDto })
  test(@CurrentCaller() caller: UserCaller, @ConnectionId() id: string): Promise<PsaTestResultDto> {
    return this.tests.test(caller, id);
  }
}
