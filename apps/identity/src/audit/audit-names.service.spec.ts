import { randomBytes, randomUUID } from 'node:crypto';
import type { SqlExecutor } from '@rmm/persistence';
import { auditRow } from '../../test/audit-rows.js';
import { partnerCaller } from '../../test/callers.js';
import type { AuditedOrganization, AuditName, AuditNamesRepository } from './audit-names.repository.js';
import { AuditNamesService } from './audit-names.service.js';
import { isPseudonym, listNames } from './audit-pseudonyms.js';

describe('AuditNamesService', () => {
  const tx = {} as SqlExecutor;
  const partnerId = randomUUID();
  let orgId: string;
  let names: AuditName[];
  let erased: Set<string>;
  let salts: Map<string, Buffer>;
  let service: AuditNamesService;

  beforeEach(() => {
    [orgId, names, erased, salts] = [randomUUID(), [], new Set(), new Map()];
    const repository: Partial<AuditNamesRepository> = {
      listErased: () => Promise.resolve(erased),
      ensureSalts: (_, organizations: readonly AuditedOrganization[]) => {
        for (const { orgId: id } of organizations) if (!salts.has(id)) salts.set(id, randomBytes(32));
        return Promise.resolve(salts);
      },
      listSalts: () => Promise.resolve(salts),
      insert: (_, added) => Promise.resolve(void names.push(...added)),
      list: (_, orgIds, pseudonyms) =>
        Promise.resolve(names.filter((name) => orgIds.includes(name.orgId) && pseudonyms.includes(name.pseudonym))),
    };
    service = new AuditNamesService(repository as AuditNamesRepository);
  });

  const row = (changes: object = {}) => ({ ...auditRow(partnerId, 1), orgId, ...changes });
  const caller = partnerCaller(partnerId);

  it('replaces the names of organizations and shows them again', async () => {
    const rows = [row(), row({ details: { hostname: 'pc-1', count: 2 } })];
    const replaced = await service.replace(tx, rows);
    expect(replaced.flatMap(listNames).every(isPseudonym)).toBe(true);
    expect(JSON.stringify(replaced)).not.toMatch(/member@users|Thing 1|192\.0\.2\.1|pc-1/);
    expect(replaced[1]?.details).toMatchObject({ count: 2 });
    expect(await service.restore(caller, replaced)).toEqual(rows);
  });

  it('stores a name once for each organization, with another pseudonym in each', async () => {
    const other = row({ orgId: randomUUID() });
    const [first, same, foreign] = await service.replace(tx, [row(), row(), other]);
    expect(first?.actorEmail).toBe(same?.actorEmail);
    expect(first?.actorEmail).not.toBe(foreign?.actorEmail);
    expect(names.filter(({ name }) => name === 'member@users.test').map((name) => name.orgId)).toEqual([
      orgId,
      other.orgId,
    ]);
  });

  it('leaves entries without an organization as they are', async () => {
    const rows = [{ ...auditRow(partnerId, 1) }];
    expect(await service.replace(tx, rows)).toEqual(rows);
    expect(await service.restore(caller, rows)).toEqual(rows);
    expect(await service.findAltered(tx, rows)).toBeNull();
  });

  it('stores no name of an erased organization, whose pseudonyms cannot be found by trying names', async () => {
    erased.add(orgId);
    const [first] = await service.replace(tx, [row()]);
    const [second] = await service.replace(tx, [row()]);
    expect(listNames(first ?? row()).every(isPseudonym)).toBe(true);
    expect(first?.actorEmail).not.toBe(second?.actorEmail);
    expect(names).toEqual([]);
  });

  it('shows the pseudonym of a name that is not stored any more', async () => {
    const replaced = await service.replace(tx, [row()]);
    names = names.filter(({ name }) => name !== 'Thing 1');
    const [restored] = await service.restore(caller, replaced);
    expect(restored).toMatchObject({ actorEmail: 'member@users.test', resourceName: replaced[0]?.resourceName });
  });

  describe('findAltered', () => {
    const seal = async () => service.replace(tx, [row(), row({ resourceName: 'Second' })]);

    it('finds nothing while the names are those that were sealed', async () => {
      expect(await service.findAltered(tx, await seal())).toBeNull();
    });

    it.each<[string, (name: AuditName) => void]>([
      ['changed', (name) => (name.name = 'Changed')],
      ['missing', (name) => (names = names.filter((each) => each !== name))],
    ])('finds the first entry with a name that is %s', async (_title, change) => {
      const sealed = await seal();
      const second = names.find(({ name }) => name === 'Second');
      if (second) change(second);
      expect(await service.findAltered(tx, sealed)).toBe(sealed[1]);
    });

    it('finds entries whose salt is missing, unless the organization was erased', async () => {
      const sealed = await seal();
      salts.clear();
      expect(await service.findAltered(tx, sealed)).toBe(sealed[0]);
      erased.add(orgId);
      expect(await service.findAltered(tx, sealed)).toBeNull();
    });
  });
});
