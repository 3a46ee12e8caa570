import { Injectable } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { UserCaller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import { isUuid, readDto, toPage, type Paged, type PageQueryDto } from '@rmm/validation';
import type { ScriptTargetDto } from '../dto/create-script.dto.js';
import { ScriptFieldsDto } from '../dto/script-fields.dto.js';
import type { ScriptDto } from '../dto/script.dto.js';
import { ScriptOwnersService } from '../script-owners.service.js';
import { toScriptFields } from '../script.mapper.js';
import { ScriptsService } from '../scripts.service.js';
import type { LibraryScriptDto, LibraryScriptSummaryDto } from './dto/library-script.dto.js';
import { type LibraryScript, toLibraryScriptDto, toSummaryDto } from './library-script.mapper.js';

/** The same path from `src` and from `dist`. */
export const LIBRARY_FOLDER = fileURLToPath(new URL('../../../script-library/', import.meta.url));

/** An entry of `manifest.json`: the fields of a script, with a file instead of its content. */
export type LibraryManifestEntry = Omit<ScriptFieldsDto, 'content'> & { id: string; file: string };

/** Returns the manifest of the library. */
export const readManifest = (): LibraryManifestEntry[] =>
  JSON.parse(readFileSync(path.join(LIBRARY_FOLDER, 'manifest.json'), 'utf8')) as LibraryManifestEntry[];

/** Serves the built-in scripts, which are files of the service, and copies them into libraries of customers. */
@Injectable()
export class SystemLibraryService {
  private readonly library = new Map(readManifest().map((entry) => [entry.id, readScript(entry)]));

  constructor(
    private readonly scripts: ScriptsService,
    private readonly owners: ScriptOwnersService,
  ) {}

  /** Lists the built-in scripts by name. */
  list(query: PageQueryDto): Paged<LibraryScriptSummaryDto> {
    const from = (query.page - 1) * query.limit;
    const page = [...this.library.values()].slice(from, from + query.limit);
    return toPage(query, { total: this.library.size }, page.map(toSummaryDto));
  }

  /** @throws NotFoundError */
  get(id: string): LibraryScriptDto {
    return toLibraryScriptDto(this.find(id));
  }

  /** Creates a script that is a copy. @throws NotFoundError, and what `ScriptsService.create` throws */
  async clone(caller: UserCaller, id: string, target: ScriptTargetDto): Promise<ScriptDto> {
    const { fields } = this.find(id);
    const owner = await this.owners.resolve(caller, target);
    return this.scripts.add(caller, owner, fields, 'script.import', { libraryScriptId: id });
  }

  private find(id: string): LibraryScript {
    const script = this.library.get(id);
    if (!script) throw new NotFoundError('Script');
    return script;
  }
}

/** @throws ValidationError  for an entry that the API would refuse; the process does not start */
function readScript({ id, file, ...entry }: LibraryManifestEntry): LibraryScript {
  if (!isUuid(id)) throw new Error(`${file}: the id is not a UUID`);
  const content = readFileSync(path.join(LIBRARY_FOLDER, file), 'utf8');
  return { id, fields: toScriptFields(readDto(ScriptFieldsDto, { ...entry, content })) };
}
