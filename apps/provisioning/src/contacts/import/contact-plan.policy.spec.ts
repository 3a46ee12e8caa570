import { ContactPlanner, type ContactImportState, type ImportedContact } from './contact-plan.policy.js';
import { parseContactRows } from './contact-rows.js';

const ORG = '00000000-0000-4000-8000-00000000000a';
const OTHER_ORG = '00000000-0000-4000-8000-00000000000b';
const SITE = '00000000-0000-4000-8000-0000000000aa';

const contact = (id: string, fields: Partial<ImportedContact> = {}): ImportedContact => ({
  id,
  orgId: ORG,
  siteId: null,
  name: null,
  nameKey: fields.name?.toLowerCase() ?? '',
  email: null,
  phone: null,
  mobile: null,
  title: null,
  roles: [],
  ...fields,
});

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

const stateOf = (changes: Partial<ContactImportState> = {}): ContactImportState => ({
  organizations: [
    { id: ORG, name: 'Acme', nameKey: 'acme', contacts: 0 },
    { id: OTHER_ORG, name: 'Other', nameKey: 'other', contacts: 0 },
  ],
  sites: [{ id: SITE, orgId: ORG, nameKey: 'main' }],
  contacts: [],
  links: [],
  maxContacts: 100,
  ...changes,
});

async function plannerFor(rows: object[], state: ContactImportState) {
  const parsed = await parseContactRows(rows.map((row) => ({ organization: 'Acme', ...row })));
  expect(parsed.problems).toEqual({});
  let created = 900;
  return { rows: parsed.rows, planner: new ContactPlanner(parsed.rows, state, () => id(++created)) };
}

async function preview(rows: object[], state = stateOf()) {
  const { rows: parsed, planner } = await plannerFor(rows, state);
  return parsed.map((row) => planner.preview(row));
}

async function commit(rows: object[], state = stateOf(), mode: 'skip' | 'update' = 'skip') {
  const { rows: parsed, planner } = await plannerFor(rows, state);
  return parsed.map((row) => planner.decide(row, mode));
}

const kim = contact(id(1), { name: 'Kim', email: 'kim@acme.example' });
const namesake = contact(id(2), { name: 'Kim', email: 'kim2@acme.example' });
const sameMail = contact(id(3), { name: 'Lee', email: 'kim@acme.example' });
const linked = { links: [{ orgId: ORG, system: 'csv', externalId: 'K1', contactId: kim.id }] };

describe('ContactPlanner', () => {
  describe('annotates', () => {
    it.each([
      ['nothing stored', [], {}, 'create'],
      ['a link', [kim], { ...linked }, 'link-match', { externalId: 'K1', email: 'other@acme.example' }],
      ['a link of another system', [sameMail], { ...linked }, 'create', { externalId: 'K1', externalSystem: 'psa' }],
      ['one e-mail address', [kim], {}, 'email-match', { name: 'Another', email: 'KIM@acme.example' }],
      ['e-mail address before name', [namesake, sameMail], {}, 'email-match', { email: 'kim@acme.example' }],
      ['one name', [kim], {}, 'name-match', { email: 'new@acme.example' }],
      ['two e-mail addresses', [kim, sameMail], {}, 'conflict', { email: 'kim@acme.example' }],
      ['two names', [kim, namesake], {}, 'conflict', {}],
      ['a contact of another organization', [{ ...kim, orgId: OTHER_ORG }], {}, 'create'],
    ] as const)('%s', async (_, contacts, changes, annotation, row = {}) => {
      const [planned] = await preview([{ name: ' KIM ', ...row }], stateOf({ contacts, ...changes }));
      expect(planned).toMatchObject({ annotation, warning: null });
    });

    it.each([
      ['e-mail address', [kim, sameMail], { email: 'kim@acme.example' }],
      ['name', [kim, namesake], {}],
    ])('a row with its own externalId and an ambiguous %s as create, with a warning', async (hint, contacts, row) => {
      const [planned] = await preview([{ name: 'Kim', externalId: 'K9', ...row }], stateOf({ contacts }));
      expect(planned).toMatchObject({ annotation: 'create', refusal: null });
      expect(planned.warning).toContain(`2 contacts have this ${hint}`);
    });

    it('rows with the same externalId for one organization as conflict, for two not', async () => {
      const planned = await preview([
        { name: 'A', externalId: 'X' },
        { name: 'B', externalId: 'X' },
        { name: 'C', externalId: 'X', organization: 'other' },
        { name: 'D', externalId: 'X', externalSystem: 'psa' },
      ]);
      expect(planned.map(({ annotation }) => annotation)).toEqual(['conflict', 'conflict', 'create', 'create']);
    });

    it('a row by the contact that an earlier one creates', async () => {
      const planned = await preview([{ name: 'New', email: 'new@acme.example' }, { email: 'new@acme.example' }]);
      expect(planned[1]).toMatchObject({ annotation: 'email-match', isMatchNew: true });
    });

    it('unknown and ambiguous organizations', async () => {
      const twins = [id(71), id(72)].map((twin) => ({ id: twin, name: 'Twin', nameKey: 'twin', contacts: 0 }));
      const planned = await preview(
        [
          { name: 'A', organization: 'Unknown' },
          { name: 'A', organization: 'Acme', organizationId: id(99) },
          { name: 'A', organization: 'twin' },
          { name: 'A', organization: 'twin', organizationId: id(72) },
        ],
        stateOf({ organizations: twins }),
      );
      expect(planned.map(({ annotation }) => annotation)).toEqual([
        'org-not-found',
        'org-not-found',
        'conflict',
        'create',
      ]);
    });
  });

  describe('names the field to blame', () => {
    const twins = [id(71), id(72)].map((twin) => ({ id: twin, name: 'Twin', nameKey: 'twin', contacts: 0 }));
    const organizations = [...stateOf().organizations, ...twins];
    it.each<[string, object, string | undefined]>([
      ['of an unknown organization', { organization: 'Unknown' }, 'organization'],
      ['of an unknown id', { organizationId: id(99) }, 'organizationId'],
      ['of an ambiguous organization', { organization: 'twin' }, 'organization'],
      ['of an unknown site', { site: 'Nowhere' }, 'site'],
      ['of an unknown role', { roles: ['clown'] }, 'roles'],
      ['of an ambiguous name', {}, 'name'],
      ['of an ambiguous address', { email: 'kim@acme.example' }, 'email'],
      ['of a changed annotation', { expectedAnnotation: 'create' }, 'expectedAnnotation'],
      ['of another match', { externalId: 'K1', expectedContactId: id(99) }, 'expectedContactId'],
      ['of a match without annotation', { name: 'Lee' }, 'expectedAnnotation'],
      ['of a match without contact', { name: 'Lee', expectedAnnotation: 'name-match' }, 'expectedContactId'],
      ['unless it is not one alone', { name: '---' }, undefined],
    ])('%s', async (_, row, field) => {
      const state = stateOf({ organizations, contacts: [kim, namesake, sameMail], ...linked });
      const [{ result }] = await commit([{ name: 'Kim', ...row }], state);
      expect(result).toMatchObject({ list: 'errors' });
      expect('field' in result.item ? result.item.field : undefined).toBe(field);
    });

    it('of an externalId that several rows have', async () => {
      const rows = ['A', 'B'].map((name) => ({ name, externalId: 'X' }));
      expect((await preview(rows)).map(({ refusal }) => refusal?.field)).toEqual(['externalId', 'externalId']);
    });
  });

  describe('decides', () => {
    const decisionOf = async (row: object, contacts: ImportedContact[], mode: 'skip' | 'update' = 'skip') => {
      const [decision] = await commit([row], stateOf({ contacts, ...linked }), mode);
      const { list, item } = decision.result;
      return { list, code: 'code' in item ? item.code : null, write: decision.write };
    };

    it.each([
      ['none', {}, 'match-unconfirmed'],
      ['the annotation only', { expectedAnnotation: 'name-match' }, 'match-unconfirmed'],
      ['the contact only', { expectedContactId: kim.id }, 'match-unconfirmed'],
      ['another annotation', { expectedAnnotation: 'create' }, 'annotation-changed'],
      ['another contact', { expectedAnnotation: 'name-match', expectedContactId: id(5) }, 'match-changed'],
      ['both', { expectedAnnotation: 'name-match', expectedContactId: kim.id }, null],
    ])('on a name match with %s confirmed', async (_, confirmation, code) => {
      for (const mode of ['skip', 'update'] as const) {
        const decision = await decisionOf({ name: 'kim', title: 'CTO', ...confirmation }, [kim], mode);
        expect(decision).toMatchObject(code === null ? { list: 'updated' } : { list: 'errors', code });
        expect(decision.write?.contact.title).toBe(code === null ? 'CTO' : undefined);
      }
    });

    it('to leave a linked contact alone in mode skip and to merge it in mode update', async () => {
      const row = { externalId: 'K1', name: 'Kim Berg', phone: '1', email: '' };
      expect(await decisionOf(row, [kim])).toMatchObject({ list: 'skipped', write: null });
      const { list, write } = await decisionOf(row, [kim], 'update');
      expect(list).toBe('updated');
      expect(write).toEqual({
        contact: { ...kim, name: 'Kim Berg', nameKey: 'kim berg', phone: '1' },
        change: 'update',
        link: null,
      });
    });

    it('to keep stored values where columns are blank, and roles unless the row names some', async () => {
      const stored = { ...kim, phone: '1', title: 'CTO', roles: ['billing'] as const, siteId: SITE };
      const row = { externalId: 'K1', name: 'Kim', phone: ' ', title: null, roles: [] };
      const kept = await decisionOf(row, [{ ...stored, roles: ['billing'] }], 'update');
      expect(kept.write).toMatchObject({ change: 'none', contact: stored });
      const replaced = await decisionOf(
        { ...row, roles: ['Technical'] },
        [{ ...stored, roles: ['billing'] }],
        'update',
      );
      expect(replaced.write?.contact.roles).toEqual(['technical']);
    });

    it('to store the link of a confirmed match', async () => {
      const row = { name: 'Kim', externalId: 'K2', expectedAnnotation: 'name-match', expectedContactId: kim.id };
      const { write } = await decisionOf(row, [kim]);
      expect(write).toMatchObject({ change: 'none', link: { system: 'csv', externalId: 'K2' } });
    });

    it.each([
      ['no-identifier', { name: '---', phone: 'n/a' }],
      ['invalid-role', { name: 'Kim', roles: ['billing', 'owner'] }],
      ['site-not-in-org', { name: 'Kim', site: 'Elsewhere' }],
      ['org-not-found', { name: 'Kim', organization: 'Unknown' }],
    ])('to refuse with %s that row alone', async (code, row) => {
      const decisions = await commit([row, { name: 'Fine', site: ' MAIN ' }]);
      expect(decisions[0].result).toMatchObject({ list: 'errors', item: { index: 0, code } });
      expect(decisions[1]).toMatchObject({ write: { contact: { siteId: SITE } }, result: { list: 'imported' } });
    });

    it('to refuse new contacts beyond the limit of the organization', async () => {
      const organizations = [{ id: ORG, name: 'Acme', nameKey: 'acme', contacts: 99 }];
      const decisions = await commit([{ name: 'A' }, { name: 'B' }], stateOf({ organizations }));
      expect(decisions.map(({ result }) => result.list)).toEqual(['imported', 'errors']);
      expect(decisions[1].result.item).toMatchObject({ code: 'write-failed' });
    });

    it('what the preview of the same rows says', async () => {
      const rows = [
        { name: 'Kim', email: 'kim@acme.example' },
        { name: 'New' },
        { name: 'new' },
        { externalId: 'K1', name: 'x' },
        { name: 'A', roles: ['x'] },
      ];
      const state = stateOf({ contacts: [kim], ...linked });
      const planned = await preview(rows, state);
      expect(planned.map(({ annotation }) => annotation)).toEqual([
        'email-match',
        'create',
        'name-match',
        'link-match',
        'conflict',
      ]);
      const pinned = rows.map((row, index) => ({
        ...row,
        expectedAnnotation: planned[index].annotation,
        expectedContactId: planned[index].isMatchNew ? null : planned[index].match?.id,
      }));
      const lists = (await commit(pinned, state, 'update')).map(({ result }) => result.list);
      expect(lists).toEqual(['updated', 'imported', 'errors', 'updated', 'errors']);
    });
  });
});
