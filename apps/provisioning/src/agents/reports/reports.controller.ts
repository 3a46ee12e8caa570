import { applyDecorators, Body, Controller, Put } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { AgentToken, CurrentCaller, SkipFallbackAudit, type AgentCaller } from '@rmm/access';
import { LimitConcurrency, RateLimit, type LimitedRequest } from '@rmm/rate-limits';
import { DoneDto } from '@rmm/service-kit';
import { UuidParam } from '@rmm/validation';
import { CONCURRENT_REPORTS, LIMITS } from '../../limits.js';
import { DISKS, HARDWARE, NETWORK, SOFTWARE } from './inventory-report.js';
import { POSTURE } from './posture-report.js';
import { schemaOf, type ReportedFields } from './reported-fields.js';
import { ReportsService } from './reports.service.js';

const REPORT_BYTES = 5 * 1024 * 1024;
/** The bodies of reports; each is parsed once its agent may send it. */
export const REPORT_BODIES = ['hardware', 'software', 'disks', 'network', 'management/posture'].map((report) => ({
  path: `/agents/:id/${report}`,
  limitBytes: REPORT_BYTES,
  read: 'json-later' as const,
}));

const agentOf = ({ caller }: LimitedRequest): string => (caller as Partial<AgentCaller> | undefined)?.agentId ?? '';

/** Declares a report of an agent. A newer agent may send more fields. */
const Report = (fields: ReportedFields): MethodDecorator =>
  applyDecorators(
    SkipFallbackAudit(),
    RateLimit(LIMITS.agentHeartbeat, agentOf),
    LimitConcurrency(CONCURRENT_REPORTS, agentOf),
    ApiBody({ schema: schemaOf(fields) }),
    ApiOkResponse({ type: DoneDto }),
  );

@ApiTags('Agents')
@Controller('agents/:id')
export class ReportsController {
  constructor(private readonly reports: ReportsService) {}

  @Put('hardware')
  @AgentToken()
  @Report(HARDWARE)
  @ApiOperation({ summary: 'Report the hardware of a device', description: 'Replaces the report before.' })
  hardware(
    @CurrentCaller() caller: AgentCaller,
    @UuidParam('id', 'Agent') id: string,
    @Body() body: unknown,
  ): Promise<DoneDto> {
    return this.reports.storeInventory(caller, id, 'hardware', body);
  }

  @Put('software')
  @AgentToken()
  @Report(SOFTWARE)
  @ApiOperation({
    summary: 'Report the software of a device',
    description: 'Replaces the report before. Of more than 1,000 items the first are stored, with the number of all.',
  })
  software(
    @CurrentCaller() caller: AgentCaller,
    @UuidParam('id', 'Agent') id: string,
    @Body() body: unknown,
  ): Promise<DoneDto> {
    return this.reports.storeInventory(caller, id, 'software', body);
  }

  @Put('disks')
  @AgentToken()
  @Report(DISKS)
  @ApiOperation({ summary: 'Report the disks of a device', description: 'Replaces the report before.' })
  disks(
    @CurrentCaller() caller: AgentCaller,
    @UuidParam('id', 'Agent') id: string,
    @Body() body: unknown,
  ): Promise<DoneDto> {
    return this.reports.storeInventory(caller, id, 'disks', body);
  }

  @Put('network')
  @AgentToken()
  @Report(NETWORK)
  @ApiOperation({ summary: 'Report the network adapters of a device', description: 'Replaces the report before.' })
  network(
    @CurrentCaller() caller: AgentCaller,
    @UuidParam('id', 'Agent') id: string,
    @Body() body: unknown,
  ): Promise<DoneDto> {
    return this.reports.storeInventory(caller, id, 'network', body);
  }

  @Put('management/posture')
  @AgentToken()
  @Report(POSTURE)
  @ApiOperation({
    summary: 'Report the management tools on a device',
    description: 'Replaces the scan before. A category that is absent has no tools.',
  })
  posture(
    @CurrentCaller() caller: AgentCaller,
    @UuidParam('id', 'Agent') id: string,
    @Body() body: unknown,
  ): Promise<DoneDto> {
    return this.reports.storePosture(caller, id, body);
  }
}
