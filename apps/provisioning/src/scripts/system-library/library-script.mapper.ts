import type { ScriptFields } from '../scripts.repository.js';
import type { LibraryScriptDto, LibraryScriptSummaryDto } from './dto/library-script.dto.js';

/** A built-in script. */
export interface LibraryScript {
  id: string;
  fields: ScriptFields;
}

export const toSummaryDto = ({ id, fields }: LibraryScript): LibraryScriptSummaryDto => ({
  id,
  name: fields.name,
  description: fields.description,
  category: fields.category,
  osTypes: fields.osTypes,
  language: fields.language,
});

export function toLibraryScriptDto(script: LibraryScript): LibraryScriptDto {
  const { content, runAs, timeoutSeconds, tags, exitCodeSeverityMapping } = script.fields;
  return { ...toSummaryDto(script), content, runAs, timeoutSeconds, tags, exitCodeSeverityMapping };
}
