import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, TenantRepository, type PageRows, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ScriptVersion } from './script-version.entity.js';

/** Replaced versions that are kept of a script. */
export const MAX_VERSIONS = 20;

/** SQL: copies in the database, so that the content is not read. */
const SNAPSHOT = `
  INSERT INTO script_version (id, script_id, partner_id, org_id, name, description, category, os_types, language, content,
    parameters, run_as, timeout_seconds, exit_code_severity_mapping, tags, version, created_by, created_at)
  SELECT gen_random_uuid(), id, partner_id, org_id, name, description, category, os_types, language, content,
    parameters, run_as, timeout_seconds, exit_code_severity_mapping, tags, version, version_created_by, version_created_at
    FROM script WHERE id = :scriptId`;

/** Versions count without gaps. */
const PRUNE = `
  DELETE FROM script_version v USING script s
   WHERE v.script_id = :scriptId AND s.id = v.script_id AND v.version <= s.version - :kept`;

/** The replaced versions of scripts. They belong to the owner of the script. */
@Injectable()
export class ScriptVersionsRepository extends TenantRepository<ScriptVersion> {
  constructor(tenants: TenantDatabase) {
    super(tenants, ScriptVersion, () => new NotFoundError('Script version'), { ownership: 'dual' });
  }

  /** Lists one page without contents, newest first. */
  list(caller: Caller, scriptId: string, page: { page: number; limit: number }): Promise<PageRows<ScriptVersion>> {
    return this.listPage<ScriptVersion>(caller, {
      where: { scriptId },
      sort: { version: 'DESC' },
      page,
      budget: { columns: ['description', 'parameters', 'exitCodeSeverityMapping', 'tags'] },
    });
  }

  /** Returns a version with its content. @throws NotFoundError */
  get(caller: Caller, scriptId: string, version: number): Promise<ScriptVersion> {
    return this.getOne(caller, { where: { scriptId, version }, hidden: ['content'] });
  }

  /** Keeps the current version of a script that is about to change, and deletes the oldest of more than 20 versions. */
  async snapshot(tx: TenantTransaction, scriptId: string): Promise<void> {
    await tx.query(SNAPSHOT, { scriptId });
    await tx.query(PRUNE, { scriptId, kept: MAX_VERSIONS });
  }
}
