import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type QueryShape, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { SortedListRepository, type SortedPageRequest, type SortedRows } from '../lists/sorted-list.repository.js';
import { nameKey } from '../organizations/name-key.js';
import { ACTIVE_ORGANIZATION } from '../organizations/organizations.repository.js';
import type { Availability } from './dto/create-script.dto.js';
import { definitionSha256, type ScriptDefinition } from './script-definition.js';
import { Script, type ScriptLanguage, type ScriptOsType } from './script.entity.js';

/** The owner of a script: an organization, or with null the partner. */
export interface ScriptOwner {
  partnerId: string;
  orgId: string | null;
}

/** The fields that users write. */
export type ScriptFields = ScriptDefinition & Pick<Script, 'name' | 'description' | 'category' | 'tags'>;

export interface ScriptFilter {
  orgId?: string;
  availability?: Availability;
  search?: string;
  category?: string;
  language?: ScriptLanguage;
  osType?: ScriptOsType;
  tag?: string;
}

/** The part of a stored script that an import compares an entry with. */
export type ScriptName = Pick<Script, 'id' | 'orgId' | 'nameKey' | 'version' | 'definitionSha256'>;

/** The scripts of an inactive organization cannot be accessed. */
const OF_ACTIVE_OWNER: QueryShape<Script> = {
  key: 'active',
  build: (query) =>
    query
      .leftJoin(
        'organization',
        'o',
        `o.id = script.orgId AND o.partner_id = script.partnerId AND ${ACTIVE_ORGANIZATION}`,
      )
      .andWhere('(script.orgId IS NULL OR o.id IS NOT NULL)'),
};

const VARIABLE_COLUMNS = ['description', 'parameters', 'exitCodeSeverityMapping', 'tags'] as const;

@Injectable()
export class ScriptsRepository extends SortedListRepository<Script> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'dual' as const, list: 'scripts' };
    super(tenants, config, Script, () => new NotFoundError('Script'), options);
  }

  /** Lists one page without contents; newest first unless sorted otherwise. @throws InvalidCursor */
  list(caller: Caller, filter: ScriptFilter, page: SortedPageRequest): Promise<SortedRows<Script>> {
    const { orgId, availability, search, category, language, osType, tag } = filter;
    const pattern = search === undefined ? undefined : `%${search.replace(/[\\%_]/g, '\\$&')}%`;
    return this.listSorted<Script>(caller, page, filter, {
      where: { orgId, category, language },
      conditions: [
        availability !== undefined && { sql: `script.orgId IS ${availability === 'org' ? 'NOT NULL' : 'NULL'}` },
        pattern !== undefined && { sql: 'script.name ILIKE :pattern', params: { pattern } },
        osType !== undefined && { sql: 'script.osTypes @> ARRAY[:osType]::text[]', params: { osType } },
        tag !== undefined && { sql: 'script.tags @> ARRAY[:tag]::text[]', params: { tag } },
      ],
      shape: OF_ACTIVE_OWNER,
      budget: { columns: VARIABLE_COLUMNS },
    });
  }

  /** Returns a script with its content. @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<Script> {
    return this.getOne(source, { where: { id }, shape: OF_ACTIVE_OWNER, hidden: ['content'] });
  }

  /** Returns the owner of a script. @throws NotFoundError */
  getOwner(source: Caller | TenantTransaction, id: string): Promise<Pick<Script, 'id' | 'orgId'>> {
    return this.getOne(source, { where: { id }, shape: OF_ACTIVE_OWNER, columns: ['id', 'orgId'] });
  }

  /** Locks a script until the transaction ends. @returns it with its content @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<Script> {
    await this.getOne(tx, { where: { id }, lock: 'FOR UPDATE', columns: ['id'] });
    return this.get(tx, id);
  }

  /** Returns the bytes of the contents of scripts by id; those out of the caller's access are missing. */
  async measure(caller: Caller, ids: readonly string[]): Promise<Map<string, number>> {
    const shape: QueryShape<Script> = {
      key: 'measured',
      build: (query) => OF_ACTIVE_OWNER.build(query).addSelect('octet_length(script.content)', 'bytes'),
    };
    const rows = await this.findMany<{ id: string; bytes: number }>(caller, {
      where: { id: ids },
      columns: ['id'],
      shape,
    });
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  }

  /** Returns scripts with their contents by id. */
  async findByIds(caller: Caller, ids: readonly string[]): Promise<Map<string, Script>> {
    const rows = await this.findMany(caller, { where: { id: ids }, shape: OF_ACTIVE_OWNER, hidden: ['content'] });
    return new Map(rows.map((row) => [row.id, row]));
  }

  countOf(tx: TenantTransaction, { partnerId, orgId }: ScriptOwner): Promise<number> {
    return this.count(tx, { where: { partnerId, orgId } });
  }

  /** Lists the names that an owner's script can clash with: its own, and those of the partner for an organization. */
  listNames(tx: TenantTransaction, { partnerId, orgId }: ScriptOwner): Promise<ScriptName[]> {
    const columns = ['id', 'orgId', 'nameKey', 'version', 'definitionSha256'] as const;
    return this.findMany(tx, { where: { partnerId }, conditions: [availableTo(orgId)], columns });
  }

  /** Returns whether a script that is available to the owner has the name, apart from the one of `exceptId`. */
  async isNameTaken(
    tx: TenantTransaction,
    { partnerId, orgId }: ScriptOwner,
    name: string,
    exceptId: string | null = null,
  ): Promise<boolean> {
    const other = exceptId !== null && { sql: 'script.id <> :exceptId', params: { exceptId } };
    const where = { partnerId, nameKey: nameKey(name) };
    return (await this.findOne(tx, { where, conditions: [availableTo(orgId), other], columns: ['id'] })) !== null;
  }

  /** Returns the spelling of tags that scripts of the owner have already, by their text in lower case. */
  async findTags(tx: TenantTransaction, owner: ScriptOwner, tags: readonly string[]): Promise<Map<string, string>> {
    const rows = await tx.query<{ key: string; tag: string }>(
      `SELECT lower(t.tag) AS key, min(t.tag) AS tag FROM script s CROSS JOIN LATERAL unnest(s.tags) AS t(tag)
        WHERE s.partner_id = :partnerId AND (s.org_id = :orgId OR (s.org_id IS NULL AND :orgId::uuid IS NULL))
          AND lower(t.tag) = ANY (:keys::text[])
        GROUP BY 1`,
      { ...owner, keys: [...new Set(tags.map((tag) => tag.toLowerCase()))] },
    );
    return new Map(rows.map(({ key, tag }) => [key, tag]));
  }

  create(
    tx: TenantTransaction,
    { id, userId, ...owner }: ScriptOwner & { id: string; userId: string | null },
    fields: ScriptFields,
  ): Promise<Script> {
    const keys = { nameKey: nameKey(fields.name), definitionSha256: definitionSha256(fields) };
    return this.insert(tx, { id, ...owner, ...fields, ...keys, version: 1, versionCreatedBy: userId });
  }

  /** Applies the changes; absent fields stay as they are. The version stays. */
  change(tx: TenantTransaction, id: string, changes: Partial<ScriptFields>): Promise<Script> {
    return this.updateOne(tx, { id }, { ...changes, ...keyOf(changes) });
  }

  /** Applies changes of what a device runs, and raises the version. */
  changeDefinition(
    tx: TenantTransaction,
    id: string,
    userId: string | null,
    changes: Partial<ScriptFields> & { definitionSha256: string },
  ): Promise<Script> {
    const version = {
      version: () => 'version + 1',
      versionCreatedBy: userId,
      versionCreatedAt: () => 'clock_timestamp()',
    };
    return this.updateOne(tx, { id }, { ...changes, ...keyOf(changes), ...version });
  }

  /** Deletes a script with its versions. */
  async remove(tx: TenantTransaction, id: string): Promise<void> {
    await this.delete(tx, { id });
  }
}

const keyOf = ({ name }: Partial<ScriptFields>) => ({ nameKey: name === undefined ? undefined : nameKey(name) });

const availableTo = (orgId: string | null) =>
  orgId === null
    ? { sql: 'script.orgId IS NULL' }
    : { sql: 'script.orgId = :ownerId OR script.orgId IS NULL', params: { ownerId: orgId } };
