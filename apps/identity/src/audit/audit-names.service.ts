import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import type { SqlExecutor } from '@rmm/persistence';
import type { AuditRow } from './audit-chain.js';
import { AuditNamesRepository, type AuditedOrganization, type AuditName } from './audit-names.repository.js';
import { isPseudonym, listNames, pseudonymOf, replaceNames } from './audit-pseudonyms.js';

type Named = Pick<AuditRow, 'actorEmail' | 'resourceName' | 'ipAddress' | 'details'> & {
  orgId: string | null;
  partnerId: string | null;
};

/**
 * Replaces the names in entries of organizations by pseudonyms before they are sealed, and shows the names again. So the
 * names of an erased organization can be deleted without a change of the sealed entries.
 * @see docs/reference/audit.md#names
 */
@Injectable()
export class AuditNamesService {
  constructor(private readonly repository: AuditNamesRepository) {}

  /** Stores the names of entries, and returns the entries with pseudonyms. Names of erased organizations are dropped. */
  async replace<T extends Named>(tx: SqlExecutor, rows: readonly T[]): Promise<T[]> {
    const organizations = organizationsOf(rows);
    if (organizations.length === 0) return [...rows];
    const erased = await this.repository.listErased(
      tx,
      organizations.map(({ orgId }) => orgId),
    );
    const stored = organizations.filter(({ orgId }) => !erased.has(orgId));
    const salts = stored.length > 0 ? await this.repository.ensureSalts(tx, stored) : new Map<string, Buffer>();
    const names = new Map<string, AuditName & AuditedOrganization>();
    const replaced = rows.map((row) => {
      const { orgId, partnerId } = row;
      if (orgId === null || partnerId === null) return row;
      const salt = salts.get(orgId);
      const lost = randomBytes(32); // of an erased organization: no reader can find the name of the pseudonym
      return replaceNames(row, (name) => {
        const pseudonym = pseudonymOf(salt ?? lost, name);
        if (salt) names.set(`${orgId} ${pseudonym}`, { orgId, partnerId, pseudonym, name });
        return pseudonym;
      });
    });
    await this.repository.insert(tx, [...names.values()]);
    return replaced;
  }

  /** Shows the names again, where they are still stored. */
  async restore<T extends Named>(caller: UserCaller, rows: readonly T[]): Promise<T[]> {
    const found = await this.find(caller, rows);
    return rows.map(
      (row) => replaceNames(row, (text) => found.get(`${row.orgId} ${text}`) ?? text), // erased: the pseudonym
    );
  }

  /** Returns the first entry with a name that is not the one it was sealed with, or that is missing without an erasure. */
  async findAltered<T extends Named>(db: SqlExecutor, rows: readonly T[]): Promise<T | null> {
    const organizations = organizationsOf(rows).map(({ orgId }) => orgId);
    if (organizations.length === 0) return null;
    const erased = await this.repository.listErased(db, organizations);
    const salts = await this.repository.listSalts(db, organizations);
    const found = await this.find(db, rows);
    const isAltered = (row: T): boolean => {
      const { orgId } = row;
      if (orgId === null || erased.has(orgId)) return false;
      const salt = salts.get(orgId);
      return listNames(row)
        .filter(isPseudonym)
        .some((pseudonym) => {
          const name = found.get(`${orgId} ${pseudonym}`);
          return name === undefined || salt === undefined || pseudonymOf(salt, name) !== pseudonym;
        });
    };
    return rows.find(isAltered) ?? null;
  }

  private async find(source: UserCaller | SqlExecutor, rows: readonly Named[]): Promise<Map<string, string>> {
    const orgIds = organizationsOf(rows).map(({ orgId }) => orgId);
    const pseudonyms = [...new Set(rows.filter(isOfOrganization).flatMap(listNames).filter(isPseudonym))];
    if (pseudonyms.length === 0) return new Map();
    const names = await this.repository.list(source, orgIds, pseudonyms);
    return new Map(names.map(({ orgId, pseudonym, name }) => [`${orgId} ${pseudonym}`, name]));
  }
}

const isOfOrganization = (row: Named): boolean => row.orgId !== null && row.partnerId !== null;

function organizationsOf(rows: readonly Named[]): AuditedOrganization[] {
  const organizations = new Map<string, string>();
  for (const { orgId, partnerId } of rows)
    if (orgId !== null && partnerId !== null) organizations.set(orgId, partnerId);
  return [...organizations].map(([orgId, partnerId]) => ({ orgId, partnerId }));
}
