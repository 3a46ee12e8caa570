import { DEFAULT_TIMEOUT_SECONDS, type ScriptFieldsDto } from './dto/script-fields.dto.js';
import type { ScriptDto, ScriptSettingsDto, ScriptSummaryDto } from './dto/script.dto.js';
import type { ScriptVersionDto, ScriptVersionSummaryDto } from './dto/script.dto.js';
import type { ScriptVersion } from './script-version.entity.js';
import type { Script, ScriptColumns } from './script.entity.js';
import type { ScriptFields } from './scripts.repository.js';

const toSettings = (row: ScriptColumns): ScriptSettingsDto => ({
  name: row.name,
  description: row.description,
  category: row.category,
  osTypes: row.osTypes,
  language: row.language,
  parameters: row.parameters,
  runAs: row.runAs,
  timeoutSeconds: row.timeoutSeconds,
  exitCodeSeverityMapping: row.exitCodeSeverityMapping,
  tags: row.tags,
  version: row.version,
});

export const toScriptSummaryDto = (row: Script): ScriptSummaryDto => ({
  id: row.id,
  orgId: row.orgId,
  partnerId: row.partnerId,
  ...toSettings(row),
  isSystem: false,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});

/** @param row  read with its content */
export const toScriptDto = (row: Script): ScriptDto => ({ ...toScriptSummaryDto(row), content: row.content });

export const toScriptVersionSummaryDto = (row: ScriptVersion): ScriptVersionSummaryDto => ({
  ...toSettings(row),
  createdBy: row.createdBy,
  createdAt: row.createdAt.toISOString(),
  replacedAt: row.replacedAt.toISOString(),
});

/** @param row  read with its content */
export const toScriptVersionDto = (row: ScriptVersion): ScriptVersionDto => ({
  ...toScriptVersionSummaryDto(row),
  content: row.content,
});

/** Returns what is stored for a complete script; absent fields get their defaults. */
export const toScriptFields = (dto: ScriptFieldsDto): ScriptFields => ({
  name: dto.name,
  description: dto.description ?? null,
  category: dto.category ?? null,
  osTypes: dto.osTypes,
  language: dto.language,
  content: dto.content,
  parameters: dto.parameters ?? null,
  runAs: dto.runAs ?? 'system',
  timeoutSeconds: dto.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
  exitCodeSeverityMapping: dto.exitCodeSeverityMapping ?? null,
  tags: dto.tags ?? [],
});

/** Returns the resource of an audit entry. */
export const scriptResource = ({
  id,
  name,
  orgId,
  partnerId,
}: Pick<Script, 'id' | 'name' | 'orgId' | 'partnerId'>) => ({
  type: 'script',
  id,
  name,
  orgId,
  partnerId,
});
