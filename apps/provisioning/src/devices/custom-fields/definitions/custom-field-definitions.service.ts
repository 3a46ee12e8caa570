import { Injectable } from '@nestjs/common';
import {
  assertManagesSite,
  FullPartnerAccessRequired,
  hasFullPartnerAccess,
  ScopeNotAllowed,
  type UserCaller,
} from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import { AuditTrail } from '@rmm/messaging';
import { isUniqueViolation, TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { type DoneDto, ValidationError } from '@rmm/service-kit';
import type { SortedPage } from '../../../lists/dto/sorted-page.dto.js';
import { OrganizationsRepository } from '../../../organizations/organizations.repository.js';
import { resolvePartnerId } from '../../../partners/partner-scope.policy.js';
import type { CustomFieldDefinition } from './custom-field-definition.entity.js';
import { CustomFieldKeyConflict, CustomFieldLimitExceeded } from './custom-field-definition.errors.js';
import { toCustomFieldDefinitionDto } from './custom-field-definition.mapper.js';
import {
  CustomFieldDefinitionsRepository,
  type CustomFieldDefinitionChanges,
  type NewCustomFieldDefinition,
} from './custom-field-definitions.repository.js';
import { findValueProblem, type CustomFieldRule } from './custom-field-values.policy.js';
import type {
  CreateCustomFieldDefinitionDto,
  CustomFieldDefinitionDto,
  ListCustomFieldDefinitionsDto,
  UpdateCustomFieldDefinitionDto,
} from './dto/custom-field-definition.dto.js';

/** Definitions of one owner. */
export const MAX_DEFINITIONS = 200;

/** Manages the definitions of custom fields. @see docs/reference/provisioning.md#custom-fields */
@Injectable()
export class CustomFieldDefinitionsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly definitions: CustomFieldDefinitionsRepository,
    private readonly organizations: OrganizationsRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws OrganizationAccessDenied, InvalidCursor; ValidationError  for an order that no index serves */
  async list(caller: UserCaller, query: ListCustomFieldDefinitionsDto): Promise<SortedPage<CustomFieldDefinitionDto>> {
    const { orgId, type } = query;
    if (query.sort === 'name' && caller.tenant.scope === 'system' && orgId === undefined) {
      throw ValidationError.forField('sort', 'needs orgId in system scope');
    }
    if (orgId !== undefined) await this.organizations.getAccessible(caller, orgId);
    const { rows, pagination } = await this.definitions.list(caller, { orgId, type }, query);
    return { data: rows.map(toCustomFieldDefinitionDto), pagination };
  }

  /** @throws NotFoundError */
  async get(caller: UserCaller, id: string): Promise<CustomFieldDefinitionDto> {
    return toCustomFieldDefinitionDto(await this.definitions.get(caller, id));
  }

  /**
   * @throws OrganizationAccessDenied, ScopeNotAllowed, FullPartnerAccessRequired, CustomFieldKeyConflict,
   *   CustomFieldLimitExceeded; ValidationError  for options or a default that the type does not have; SiteAccessDenied
   *   for a caller restricted to sites or groups
   */
  async create(caller: UserCaller, dto: CreateCustomFieldDefinitionDto): Promise<CustomFieldDefinitionDto> {
    const { fieldKey, name, type, options = [], required = false, defaultValue = null, deviceTypes = [] } = dto;
    assertConsistent({ type, options, defaultValue });
    const { partnerId, orgId } = await this.getOwner(caller, dto);
    const lock = `rmm.provisioning.custom-fields.${orgId ?? partnerId}`;
    return this.tenants.lockedTransaction(caller, lock, async (tx) => {
      if (orgId !== null) await this.organizations.getAccessible(tx, orgId);
      if ((await this.definitions.countOf(tx, partnerId, orgId)) >= MAX_DEFINITIONS) {
        throw new CustomFieldLimitExceeded();
      }
      const values = { partnerId, orgId, fieldKey, name, type, options, required, defaultValue, deviceTypes };
      const row = await this.insert(tx, values);
      await this.record(tx, caller, 'custom_field_definition.create', row, { type });
      return toCustomFieldDefinitionDto(row);
    });
  }

  /**
   * Values that devices have stay as they are.
   * @throws NotFoundError, ScopeNotAllowed, FullPartnerAccessRequired, ValidationError, SiteAccessDenied  as `create`
   */
  update(
    caller: UserCaller,
    id: string,
    { name, options, required, defaultValue, deviceTypes }: UpdateCustomFieldDefinitionDto,
  ): Promise<CustomFieldDefinitionDto> {
    const given = Object.entries({ name, options, required, defaultValue, deviceTypes });
    const changes = Object.fromEntries(
      given.filter(([, value]) => value !== undefined),
    ) as CustomFieldDefinitionChanges;
    const fields = Object.keys(changes);
    if (fields.length === 0) throw ValidationError.nothingToChange();
    return this.tenants.transaction(caller, async (tx) => {
      const before = await this.lockOwned(tx, caller, id);
      assertConsistent({ ...before, ...changes });
      const after = await this.definitions.change(tx, id, changes);
      await this.record(tx, caller, 'custom_field_definition.update', after, { fields });
      return toCustomFieldDefinitionDto(after);
    });
  }

  /** Deletes a definition; values that devices have stay. @throws NotFoundError, ScopeNotAllowed, SiteAccessDenied */
  delete(caller: UserCaller, id: string): Promise<DoneDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const row = await this.lockOwned(tx, caller, id);
      await this.definitions.remove(tx, id);
      await this.record(tx, caller, 'custom_field_definition.delete', row, {});
      return { success: true };
    });
  }

  private async getOwner(
    caller: UserCaller,
    { ownerScope, orgId: requested, partnerId }: CreateCustomFieldDefinitionDto,
  ): Promise<{ partnerId: string; orgId: string | null }> {
    if (ownerScope === 'partner') {
      if (requested !== undefined) throw ValidationError.forField('orgId', 'belongs to definitions of an organization');
      assertMayDefine(caller, null);
      return { partnerId: resolvePartnerId(caller, partnerId), orgId: null };
    }
    if (partnerId !== undefined) throw ValidationError.forField('partnerId', 'belongs to definitions of a partner');
    const orgId = requested ?? caller.tenant.orgId;
    if (orgId === null) throw ValidationError.forField('orgId', 'is required');
    assertMayDefine(caller, orgId);
    const organization = await this.organizations.getAccessible(caller, orgId);
    return { partnerId: organization.partnerId, orgId };
  }

  private async lockOwned(tx: TenantTransaction, caller: UserCaller, id: string): Promise<CustomFieldDefinition> {
    const row = await this.definitions.get(tx, id);
    assertMayDefine(caller, row.orgId);
    return this.definitions.lock(tx, id);
  }

  private async insert(tx: TenantTransaction, definition: NewCustomFieldDefinition): Promise<CustomFieldDefinition> {
    try {
      return await this.definitions.create(tx, definition);
    } catch (error) {
      if (isUniqueViolation(error, 'custom_field_definition_key')) throw new CustomFieldKeyConflict();
      throw error;
    }
  }

  private async record(
    tx: TenantTransaction,
    caller: UserCaller,
    action: AuditAction,
    { id, name, orgId, partnerId, fieldKey }: CustomFieldDefinition,
    details: Record<string, unknown>,
  ): Promise<void> {
    const resource = { type: 'custom_field_definition', id, name, orgId, partnerId };
    await this.audit.record(tx, caller, action, resource, { fieldKey, ...details });
  }
}

/**
 * A definition concerns every device of its owner.
 * @throws ScopeNotAllowed, FullPartnerAccessRequired  for one of the partner; SiteAccessDenied  for a restricted caller
 */
function assertMayDefine(caller: UserCaller, orgId: string | null): void {
  assertManagesSite(caller, null);
  if (orgId !== null) return;
  if (caller.tenant.scope === 'organization') throw new ScopeNotAllowed();
  if (!hasFullPartnerAccess(caller)) throw new FullPartnerAccessRequired();
}

/** @throws ValidationError */
function assertConsistent({
  type,
  options,
  defaultValue,
}: Pick<CustomFieldRule, 'type' | 'options' | 'defaultValue'>): void {
  if (type === 'dropdown' && options.length === 0) {
    throw ValidationError.forField('options', 'are required for a dropdown');
  }
  if (type !== 'dropdown' && options.length > 0) throw ValidationError.forField('options', 'belong to a dropdown');
  const problem = defaultValue === null ? null : findValueProblem({ type, options }, defaultValue);
  if (problem !== null) throw ValidationError.forField('defaultValue', problem);
}
