import type { ExportedCustomField, ExportedCustomFieldValue, ExportedScript } from '@rmm/contracts';
import type { RecordColumns } from '../record-pages.repository.js';

type Scoped = { sourceScope: 'organization' | 'partner' | null };
export type ScriptRow = RecordColumns & Omit<ExportedScript, 'sourceScope'>;
export type CustomFieldRow = RecordColumns & Omit<ExportedCustomField, 'sourceScope'>;

const scopeOf = ({ isPartnerWide }: RecordColumns) =>
  isPartnerWide ? ('partner' as const) : ('organization' as const);

/** Returns a record as it was published; the owner is its scope unless it names another. */
export function toPublished<T extends Scoped>(row: RecordColumns): T {
  const record = row.record as T;
  return { ...record, sourceScope: record.sourceScope ?? scopeOf(row) };
}

export const toScript = (row: ScriptRow): ExportedScript => ({
  sourceScope: scopeOf(row),
  name: row.name,
  description: row.description,
  category: row.category,
  osTypes: row.osTypes,
  language: row.language,
  content: row.content,
  parameters: row.parameters,
  timeoutSeconds: row.timeoutSeconds,
  runAs: row.runAs,
  version: row.version,
  exitCodeSeverityMapping: row.exitCodeSeverityMapping,
});

/** Returns what was published, else the definition of this service. */
export const toCustomField = (row: CustomFieldRow): ExportedCustomField =>
  row.record
    ? toPublished<ExportedCustomField>(row)
    : {
        sourceScope: scopeOf(row),
        name: row.name,
        fieldKey: row.fieldKey,
        type: row.type,
        options: row.options,
        required: row.required,
        defaultValue: row.defaultValue,
        deviceTypes: row.deviceTypes,
      };

export const toFieldValue = ({
  deviceId,
  definitionId,
  name,
  fieldKey,
  type,
  value,
}: ExportedCustomFieldValue): ExportedCustomFieldValue => ({ deviceId, definitionId, name, fieldKey, type, value });
