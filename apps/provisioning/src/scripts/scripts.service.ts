import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Caller, UserCaller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { assertIfMatch, type DoneDto, ValidationError } from '@rmm/service-kit';
import { toPage, type Paged, type PageQueryDto } from '@rmm/validation';
import type { SortedPage } from '../lists/dto/sorted-page.dto.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import type { CreateScriptDto } from './dto/create-script.dto.js';
import type { ListScriptsDto } from './dto/list-scripts.dto.js';
import type { UpdateScriptDto } from './dto/script-fields.dto.js';
import type { ScriptDto, ScriptSummaryDto, ScriptVersionDto, ScriptVersionSummaryDto } from './dto/script.dto.js';
import { definitionSha256 } from './script-definition.js';
import { assertMayChange, ScriptOwnersService, scriptsLock } from './script-owners.service.js';
import { ScriptVersionsRepository } from './script-versions.repository.js';
import type { Script } from './script.entity.js';
import { ScriptLimitExceeded, ScriptNameTaken } from './script.errors.js';
import {
  scriptResource,
  toScriptDto,
  toScriptFields,
  toScriptSummaryDto,
  toScriptVersionDto,
  toScriptVersionSummaryDto,
} from './script.mapper.js';
import { ScriptsRepository, type ScriptFields, type ScriptOwner } from './scripts.repository.js';

/** Scripts of one owner. */
export const MAX_SCRIPTS = 1_000;

/** Manages scripts and their versions. @see docs/reference/provisioning.md#scripts */
@Injectable()
export class ScriptsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly scripts: ScriptsRepository,
    private readonly versions: ScriptVersionsRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly owners: ScriptOwnersService,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws OrganizationAccessDenied, InvalidCursor; ValidationError  for an order that no index serves */
  async list(caller: Caller, query: ListScriptsDto): Promise<SortedPage<ScriptSummaryDto>> {
    const { orgId, availability, search, category, language, osType, tag } = query;
    if (query.sort === 'name' && caller.tenant.scope === 'system' && orgId === undefined) {
      throw ValidationError.forField('sort', 'needs orgId in system scope');
    }
    if (orgId !== undefined) await this.organizations.getAccessible(caller, orgId);
    const filter = { orgId, availability, search, category, language, osType, tag };
    const { rows, pagination } = await this.scripts.list(caller, filter, query);
    return { data: rows.map(toScriptSummaryDto), pagination };
  }

  /** @throws NotFoundError */
  async get(caller: Caller, id: string): Promise<ScriptDto> {
    return toScriptDto(await this.scripts.get(caller, id));
  }

  /** Lists the replaced versions of a script, newest first. @throws NotFoundError */
  async listVersions(caller: Caller, id: string, query: PageQueryDto): Promise<Paged<ScriptVersionSummaryDto>> {
    await this.scripts.getOwner(caller, id);
    const { rows, ...counted } = await this.versions.list(caller, id, query);
    return toPage(query, counted, rows.map(toScriptVersionSummaryDto));
  }

  /** @throws NotFoundError  also for the current version */
  async getVersion(caller: Caller, id: string, version: number): Promise<ScriptVersionDto> {
    await this.scripts.getOwner(caller, id);
    return toScriptVersionDto(await this.versions.get(caller, id, version));
  }

  /** @throws ScriptNameTaken, ScriptLimitExceeded, and what `ScriptOwnersService.resolve` throws */
  async create(caller: UserCaller, dto: CreateScriptDto): Promise<ScriptDto> {
    return this.add(caller, await this.owners.resolve(caller, dto), toScriptFields(dto), 'script.create');
  }

  /** Creates a script for an owner that was resolved. @throws ScriptNameTaken, ScriptLimitExceeded */
  add(
    caller: UserCaller,
    owner: ScriptOwner,
    fields: ScriptFields,
    action: AuditAction,
    details: Record<string, unknown> = {},
  ): Promise<ScriptDto> {
    return this.tenants.lockedTransaction(caller, scriptsLock(owner.partnerId), async (tx) => {
      if (owner.orgId !== null) await this.organizations.getAccessible(tx, owner.orgId);
      if (await this.scripts.isNameTaken(tx, owner, fields.name)) throw new ScriptNameTaken();
      if ((await this.scripts.countOf(tx, owner)) >= MAX_SCRIPTS) throw new ScriptLimitExceeded();
      const script = await this.scripts.create(tx, { ...owner, id: randomUUID(), userId: caller.userId }, fields);
      await this.record(tx, caller, action, script, { ...details, definitionSha256: script.definitionSha256 });
      return toScriptDto(script);
    });
  }

  /**
   * Changes a script. A change of what a device runs makes a new version and keeps the replaced one.
   * @throws NotFoundError, ScriptNameTaken, FullPartnerAccessRequired, SiteAccessDenied, ValidationError
   */
  update(caller: UserCaller, id: string, dto: UpdateScriptDto): Promise<ScriptDto> {
    const changes = Object.fromEntries(
      Object.entries(dto).filter(([, value]) => value !== undefined),
    ) as Partial<ScriptFields>;
    const fields = Object.keys(changes);
    if (fields.length === 0) throw ValidationError.nothingToChange();
    if (dto.tags === null) changes.tags = [];
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.lockChangeable(tx, caller, id);
      if (changes.name !== undefined && (await this.scripts.isNameTaken(tx, before, changes.name, id))) {
        throw new ScriptNameTaken();
      }
      const after = await rejectTakenName(this.change(tx, caller, before, changes));
      await this.record(tx, caller, 'script.update', after, {
        fields,
        version: after.version,
        definitionSha256: after.definitionSha256,
      });
      return toScriptDto(after);
    });
  }

  /** Deletes a script with its versions. @throws NotFoundError, FullPartnerAccessRequired, SiteAccessDenied */
  delete(caller: UserCaller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const script = await this.lockChangeable(tx, caller, id);
      await this.scripts.remove(tx, id);
      await this.record(tx, caller, 'script.delete', script, { version: script.version });
      return { success: true };
    });
  }

  private async change(
    tx: TenantTransaction,
    caller: UserCaller,
    before: Script,
    changes: Partial<ScriptFields>,
  ): Promise<Script> {
    const digest = definitionSha256({ ...before, ...changes });
    if (digest === before.definitionSha256) return this.scripts.change(tx, before.id, changes);
    await this.versions.snapshot(tx, before.id);
    return this.scripts.changeDefinition(tx, before.id, caller.userId, { ...changes, definitionSha256: digest });
  }

  /** @throws NotFoundError, FullPartnerAccessRequired, SiteAccessDenied, RecordChanged */
  private async lockChangeable(tx: TenantTransaction, caller: UserCaller, id: string): Promise<Script> {
    const { orgId } = await this.scripts.getOwner(tx, id);
    assertMayChange(caller, orgId);
    const script = await this.scripts.lock(tx, id);
    await assertIfMatch(() => toScriptDto(script));
    return script;
  }

  private async record(
    tx: TenantTransaction,
    caller: UserCaller,
    action: AuditAction,
    script: Script,
    details: Record<string, unknown>,
  ): Promise<void> {
    await this.audit.record(tx, caller, action, scriptResource(script), details);
  }
}

/** @throws ScriptNameTaken  when a concurrent request took the name first */
async function rejectTakenName(write: Promise<Script>): Promise<Script> {
  try {
    return await write;
  } catch (error) {
    if (isUniqueViolation(error, 'script_org_name_key') || isUniqueViolation(error, 'script_partner_name_key')) {
      throw new ScriptNameTaken();
    }
    throw error;
  }
}
