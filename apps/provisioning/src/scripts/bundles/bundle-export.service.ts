import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Clock, NotFoundError, ValidationError } from '@rmm/service-kit';
import type { ScriptFieldsDto } from '../dto/script-fields.dto.js';
import type { Script } from '../script.entity.js';
import { ScriptsRepository } from '../scripts.repository.js';
import { BUNDLE_VERSION } from './bundle-entries.js';
import type { ScriptBundleDto } from './dto/bundle-results.dto.js';

/** Bytes of contents that an import accepts: its body also has the other fields. */
const MAX_CONTENT_BYTES = 18 * 1024 * 1024;

/** Exports scripts as a bundle, which an import accepts anywhere: it names no tenant. */
@Injectable()
export class BundleExportService {
  constructor(
    private readonly scripts: ScriptsRepository,
    private readonly audit: AuditTrail,
    private readonly clock: Clock,
  ) {}

  /**
   * Exports up to 200 scripts in the order of the ids.
   * @throws NotFoundError  when one of them is out of the caller's access; ValidationError  when they are too large together
   */
  async export(caller: UserCaller, ids: readonly string[]): Promise<ScriptBundleDto> {
    const sizes = await this.scripts.measure(caller, ids);
    if (sizes.size < ids.length) throw new NotFoundError('Script');
    const total = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    if (total > MAX_CONTENT_BYTES) throw ValidationError.forField('ids', 'have more than 18 MB of contents in all');
    const found = await this.scripts.findByIds(caller, ids);
    const rows = ids.map((id) => {
      const row = found.get(id);
      if (!row) throw new NotFoundError('Script'); // deleted since it was measured
      return row;
    });
    await this.recordExport(caller, rows);
    return {
      bundleVersion: BUNDLE_VERSION,
      exportedAt: new Date(this.clock.nowMs()).toISOString(),
      scripts: rows.map(toBundleEntry),
    };
  }

  private async recordExport(caller: UserCaller, rows: readonly Script[]): Promise<void> {
    const [first] = rows;
    const orgIds = new Set(rows.map(({ orgId }) => orgId));
    const partnerIds = new Set(rows.map(({ partnerId }) => partnerId));
    const resource = {
      type: 'script',
      id: rows.length === 1 ? first.id : null,
      name: rows.length === 1 ? first.name : null,
      orgId: orgIds.size === 1 ? first.orgId : null,
      partnerId: partnerIds.size === 1 ? first.partnerId : null,
    };
    await this.audit.recordDirect(caller, 'script.bundle.export', resource, { scriptIds: rows.map(({ id }) => id) });
  }
}

const toBundleEntry = (row: Script): ScriptFieldsDto => ({
  name: row.name,
  osTypes: row.osTypes,
  language: row.language,
  content: row.content,
  runAs: row.runAs,
  timeoutSeconds: row.timeoutSeconds,
  description: row.description,
  category: row.category,
  tags: row.tags,
  parameters: row.parameters,
  exitCodeSeverityMapping: row.exitCodeSeverityMapping,
});
