import { Controller, Get, Query, UseFilters, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, PartnerKey } from '@rmm/access';
import type { PartnerKeyCaller } from '@rmm/access';
import { Compressed, ErrorCodes } from '@rmm/service-kit';
import {
  AutomationPageDto,
  BackupConfigurationPageDto,
  ConfigurationAssignmentPageDto,
  ConfigurationPolicyPageDto,
  CustomFieldPageDto,
  CustomFieldValuePageDto,
  ScriptPageDto,
} from './dto/definition-records.dto.js';
import { ExportErrorFilter } from './export-error.filter.js';
import { ExportPageInterceptor } from './export-page.interceptor.js';
import { ExportParameters } from './export-parameters.decorator.js';
import type { ExportPage } from './export.service.js';
import { ExportService } from './export.service.js';
import {
  AUTOMATIONS,
  BACKUP_CONFIGURATIONS,
  CONFIGURATION_ASSIGNMENTS,
  CONFIGURATION_POLICIES,
  CUSTOM_FIELDS,
  CUSTOM_FIELD_VALUES,
  SCRIPTS,
} from './resources/definition-resources.js';

type RawQuery = Record<string, unknown>;

/** Definitions of a partner: configuration, scripts, backups and custom fields. Those of the partner repeat once per organization. */
@ApiTags('Partner interface')
@ErrorCodes({
  400: ['invalid_partner_export_cursor', 'invalid_partner_export_pagination', 'invalid_partner_export_query'],
  500: ['partner_export_failed'],
})
@Controller('partner-api')
@UseFilters(ExportErrorFilter)
@Compressed()
@UseInterceptors(ExportPageInterceptor)
export class DefinitionExportsController {
  constructor(private readonly exports: ExportService) {}

  @Get('configuration-policies')
  @PartnerKey('configuration:read')
  @ExportParameters(CONFIGURATION_POLICIES)
  @ApiOperation({ summary: 'List configuration policies' })
  @ApiOkResponse({ type: ConfigurationPolicyPageDto })
  listPolicies(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, CONFIGURATION_POLICIES, query);
  }

  @Get('configuration-assignments')
  @PartnerKey('configuration:read')
  @ExportParameters(CONFIGURATION_ASSIGNMENTS)
  @ApiOperation({ summary: 'List the assignments of configuration policies' })
  @ApiOkResponse({ type: ConfigurationAssignmentPageDto })
  listAssignments(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, CONFIGURATION_ASSIGNMENTS, query);
  }

  @Get('automations')
  @PartnerKey('configuration:read')
  @ExportParameters(AUTOMATIONS)
  @ApiOperation({ summary: 'List automations' })
  @ApiOkResponse({ type: AutomationPageDto })
  listAutomations(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, AUTOMATIONS, query);
  }

  @Get('scripts')
  @PartnerKey('scripts:read')
  @ExportParameters(SCRIPTS)
  @ApiOperation({ summary: 'List scripts with their contents' })
  @ApiOkResponse({ type: ScriptPageDto })
  listScripts(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, SCRIPTS, query);
  }

  @Get('backup-configurations')
  @PartnerKey('backup-configuration:read')
  @ExportParameters(BACKUP_CONFIGURATIONS)
  @ApiOperation({ summary: 'List destinations, profiles and policies of backups' })
  @ApiOkResponse({ type: BackupConfigurationPageDto })
  listBackupConfigurations(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, BACKUP_CONFIGURATIONS, query);
  }

  @Get('custom-fields')
  @PartnerKey('custom-fields:read')
  @ExportParameters(CUSTOM_FIELDS)
  @ApiOperation({ summary: 'List the definitions of custom fields' })
  @ApiOkResponse({ type: CustomFieldPageDto })
  listCustomFields(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, CUSTOM_FIELDS, query);
  }

  @Get('custom-field-values')
  @PartnerKey('custom-fields:read')
  @ExportParameters(CUSTOM_FIELD_VALUES)
  @ApiOperation({ summary: 'List the values of custom fields' })
  @ApiOkResponse({ type: CustomFieldValuePageDto })
  listCustomFieldValues(@CurrentCaller() caller: PartnerKeyCaller, @Query() query: RawQuery): Promise<ExportPage> {
    return this.exports.getPage(caller, CUSTOM_FIELD_VALUES, query);
  }
}
