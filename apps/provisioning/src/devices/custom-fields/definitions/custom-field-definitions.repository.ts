import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type QueryShape, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../../../config.js';
import {
  SortedListRepository,
  type SortedPageRequest,
  type SortedRows,
} from '../../../lists/sorted-list.repository.js';
import { nameKey } from '../../../organizations/name-key.js';
import { ACTIVE_ORGANIZATION } from '../../../organizations/organizations.repository.js';
import { CustomFieldDefinition, type CustomFieldType } from './custom-field-definition.entity.js';
import type { CustomFieldRule } from './custom-field-values.policy.js';

export interface CustomFieldDefinitionFilter {
  orgId?: string;
  type?: CustomFieldType;
}

export type NewCustomFieldDefinition = Pick<CustomFieldDefinition, 'partnerId' | 'orgId' | 'name' | 'type'> &
  CustomFieldRule;
export type CustomFieldDefinitionChanges = Partial<
  Pick<CustomFieldDefinition, 'name' | 'options' | 'required' | 'defaultValue' | 'deviceTypes'>
>;

/** The definitions of an inactive organization cannot be accessed. */
const OF_ACTIVE_OWNER: QueryShape<CustomFieldDefinition> = {
  key: 'active',
  build: (query) =>
    query
      .leftJoin(
        'organization',
        'o',
        `o.id = customFieldDefinition.orgId AND o.partner_id = customFieldDefinition.partnerId AND ${ACTIVE_ORGANIZATION}`,
      )
      .andWhere('(customFieldDefinition.orgId IS NULL OR o.id IS NOT NULL)'),
};

/**
 * SQL expression: the defaults of the fields of a device, as one object. The definition of an organization replaces that
 * of its partner.
 * @param device  alias of the table, or of its entity
 */
export const customFieldDefaults = (device: { partnerId: string; orgId: string; osType: string }): string => `
  coalesce((SELECT jsonb_object_agg(f.field_key, f.default_value) FROM (
    SELECT DISTINCT ON (c.field_key) c.field_key, c.default_value, c.device_types FROM custom_field_definition c
     WHERE c.partner_id = ${device.partnerId} AND (c.org_id = ${device.orgId} OR c.org_id IS NULL)
     ORDER BY c.field_key, c.org_id NULLS LAST) f
    WHERE f.default_value IS NOT NULL AND (f.device_types = '{}' OR ${device.osType} = ANY (f.device_types))), '{}')`;

/** SQL: one row for each key, that of the organization before that of the partner. */
const RULES = `
  SELECT DISTINCT ON (field_key) field_key AS "fieldKey", type, options, required, default_value AS "defaultValue",
         device_types AS "deviceTypes"
    FROM custom_field_definition
   WHERE partner_id = :partnerId AND (org_id = :orgId OR org_id IS NULL) AND field_key = ANY (:keys::text[])
   ORDER BY field_key, org_id NULLS LAST`;

@Injectable()
export class CustomFieldDefinitionsRepository extends SortedListRepository<CustomFieldDefinition> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'dual' as const, list: 'custom-field-definitions' };
    super(tenants, config, CustomFieldDefinition, () => new NotFoundError('Custom field definition'), options);
  }

  /** Lists one page; newest first unless sorted otherwise. @throws InvalidCursor */
  list(
    caller: Caller,
    filter: CustomFieldDefinitionFilter,
    page: SortedPageRequest,
  ): Promise<SortedRows<CustomFieldDefinition>> {
    return this.listSorted<CustomFieldDefinition>(caller, page, filter, {
      where: { ...filter },
      shape: OF_ACTIVE_OWNER,
      budget: { columns: ['options', 'defaultValue'] },
    });
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<CustomFieldDefinition> {
    return this.getOne(source, { where: { id }, shape: OF_ACTIVE_OWNER });
  }

  /** Locks a definition until the transaction ends. @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<CustomFieldDefinition> {
    await this.getOne(tx, { where: { id }, lock: 'FOR UPDATE', columns: ['id'] });
    return this.get(tx, id);
  }

  /** Counts the definitions of an owner: an organization, or with null the partner itself. */
  countOf(tx: TenantTransaction, partnerId: string, orgId: string | null): Promise<number> {
    return this.count(tx, { where: { partnerId, orgId } });
  }

  create(tx: TenantTransaction, definition: NewCustomFieldDefinition): Promise<CustomFieldDefinition> {
    return this.insert(tx, { ...definition, nameKey: nameKey(definition.name) });
  }

  change(tx: TenantTransaction, id: string, changes: CustomFieldDefinitionChanges): Promise<CustomFieldDefinition> {
    const key = changes.name === undefined ? undefined : nameKey(changes.name);
    return this.updateOne(tx, { id }, { ...changes, nameKey: key });
  }

  async remove(tx: TenantTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }

  /** Returns the rules that apply to these fields of the devices of an organization. */
  listRules(
    tx: TenantTransaction,
    { partnerId, orgId }: { partnerId: string; orgId: string },
    keys: readonly string[],
  ): Promise<CustomFieldRule[]> {
    return tx.query<CustomFieldRule>(RULES, { partnerId, orgId, keys });
  }
}
