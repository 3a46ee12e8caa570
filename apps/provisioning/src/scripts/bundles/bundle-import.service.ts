import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, Outbox, type OutgoingMessage } from '@rmm/messaging';
import { Idempotency, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { DomainError, Logger, mapYielding } from '@rmm/service-kit';
import { OrganizationsRepository } from '../../organizations/organizations.repository.js';
import { ScriptOwnersService, scriptsLock } from '../script-owners.service.js';
import { ScriptVersionsRepository } from '../script-versions.repository.js';
import type { Script } from '../script.entity.js';
import { scriptResource } from '../script.mapper.js';
import { ScriptsRepository, type ScriptFields, type ScriptOwner } from '../scripts.repository.js';
import { MAX_SCRIPTS } from '../scripts.service.js';
import { readBundle, type BundleEntry, type ReadBundle } from './bundle-entries.js';
import { BundlePlanner, type BundleMode, type EntryDecision } from './bundle-plan.policy.js';
import type { ImportBundleDto, PreviewBundleDto } from './dto/bundle-requests.dto.js';
import type {
  BundleImportResultDto,
  BundlePreviewDto,
  EntryAction,
  ImportedScriptDto,
} from './dto/bundle-results.dto.js';

type WriteDecision = Extract<EntryDecision, { fields: ScriptFields }>;

/**
 * Imports bundles of scripts, which are untrusted. Nothing of them is run. Preview and import decide by the same rules. It has
 * nine dependencies: one transaction writes scripts, versions, events, audit entries and the idempotent response.
 */
@Injectable()
export class BundleImportService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scripts: ScriptsRepository,
    private readonly versions: ScriptVersionsRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly owners: ScriptOwnersService,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
    private readonly idempotency: Idempotency,
    private readonly logger: Logger,
  ) {}

  /** Returns what an import would meet; writes nothing. @throws what `readBundle` and `ScriptOwnersService.resolve` throw */
  async preview(caller: UserCaller, dto: PreviewBundleDto): Promise<BundlePreviewDto> {
    const owner = await this.owners.resolve(caller, dto);
    const { entries, warnings } = await readBundle(dto.bundle);
    const planner = await this.tenants.transaction(caller, (tx) => this.createPlanner(tx, owner));
    const target = { ...owner, availability: dto.availability ?? ('org' as const) };
    return { target, entries: await mapYielding(entries, (entry) => planner.preview(entry)), warnings };
  }

  /**
   * Imports the valid entries one by one, under the lock of the partner. An entry that cannot be imported is reported and
   * leaves the others alone. A repeated request with the same idempotency key gets the same result.
   * @throws what `readBundle` and `ScriptOwnersService.resolve` throw
   */
  async import(caller: UserCaller, dto: ImportBundleDto): Promise<BundleImportResultDto> {
    const owner = await this.owners.resolve(caller, dto);
    const bundle = await readBundle(dto.bundle);
    return this.tenants.lockedTransaction(caller, scriptsLock(owner.partnerId), (tx) =>
      this.idempotency.once(tx, () => this.write(tx, caller, owner, bundle, dto.mode ?? 'skip')),
    );
  }

  private async write(
    tx: TenantTransaction,
    caller: UserCaller,
    owner: ScriptOwner,
    { entries, warnings, sha256 }: ReadBundle,
    mode: BundleMode,
  ): Promise<BundleImportResultDto> {
    if (owner.orgId !== null) await this.organizations.getAccessible(tx, owner.orgId);
    const planner = await this.createPlanner(tx, owner);
    const spelling = await this.scripts.findTags(
      tx,
      owner,
      entries.flatMap(({ fields }) => fields?.tags ?? []),
    );
    const result: BundleImportResultDto = {
      imported: 0,
      skipped: 0,
      renamed: 0,
      versioned: 0,
      errors: [],
      scripts: [],
      warnings,
    };
    const audited: OutgoingMessage[] = [];
    for (const entry of entries) {
      const decision = planner.decide(useSpelling(entry, spelling), mode);
      if (decision.action === 'refuse') {
        result.errors.push({ index: entry.index, name: entry.name, error: decision.error });
      } else if (decision.action === 'skip') {
        addTo(result, entry, 'skipped', decision.scriptId);
      } else {
        const script = await this.writeEntry(tx, caller, owner, entry, decision);
        if (!script) {
          result.errors.push({ index: entry.index, name: entry.name, error: 'The script could not be written' });
          continue;
        }
        planner.add(script);
        const action = actionOf(decision);
        addTo(result, entry, action, script.id, action === 'renamed' ? script.name : undefined);
        const details = { bundleSha256: sha256, action, version: script.version, mode };
        audited.push(this.audit.toMessage(caller, 'script.bundle.import', scriptResource(script), details));
      }
    }
    await this.outbox.publish(tx, audited);
    return result;
  }

  /** Returns the script as stored; null when it could not be written. */
  private async writeEntry(
    tx: TenantTransaction,
    caller: UserCaller,
    owner: ScriptOwner,
    { index, fields: given }: BundleEntry,
    decision: WriteDecision,
  ): Promise<Script | null> {
    try {
      return await tx.savepoint(async () => {
        if (decision.action === 'create') {
          return this.scripts.create(tx, { ...owner, id: randomUUID(), userId: caller.userId }, decision.fields);
        }
        await this.versions.snapshot(tx, decision.scriptId);
        // The name stays as it is spelled; a description, category or tags that the entry lacks stay too.
        const { name: _name, description, category, tags, ...definition } = decision.fields;
        return this.scripts.changeDefinition(tx, decision.scriptId, caller.userId, {
          ...definition,
          description: given?.description === undefined ? undefined : description,
          category: given?.category === undefined ? undefined : category,
          tags: given?.tags === undefined ? undefined : tags,
          definitionSha256: decision.definitionSha256,
        });
      });
    } catch (err) {
      if (err instanceof DomainError) throw err;
      this.logger.error({ err, index, ...owner }, 'A script of a bundle cannot be written; the entry reports an error');
      return null;
    }
  }

  private async createPlanner(tx: TenantTransaction, owner: ScriptOwner): Promise<BundlePlanner> {
    return new BundlePlanner(await this.scripts.listNames(tx, owner), owner, MAX_SCRIPTS);
  }
}

function addTo(
  result: BundleImportResultDto,
  { index, name }: BundleEntry,
  action: EntryAction,
  scriptId: string,
  finalName?: string,
): void {
  result[action] += 1;
  const script: ImportedScriptDto = { index, name: name ?? '', action, scriptId };
  result.scripts.push(finalName === undefined ? script : { ...script, finalName });
}

function actionOf(decision: WriteDecision): EntryAction {
  if (decision.action === 'new-version') return 'versioned';
  return decision.finalName === null ? 'imported' : 'renamed';
}

/** Spells tags as the scripts of the owner do, and each tag of the bundle in one way. */
function useSpelling(entry: BundleEntry, spelling: Map<string, string>): BundleEntry {
  const { fields } = entry;
  if (!fields?.tags) return entry;
  const tags = fields.tags.map((tag) => {
    const key = tag.toLowerCase();
    const known = spelling.get(key) ?? tag;
    spelling.set(key, known);
    return known;
  });
  return { ...entry, fields: { ...fields, tags: [...new Set(tags)] } };
}
