import { planUndo } from './undo-plan.policy.js';
import type { CurrentOrganization, CurrentRecords, OpenChange } from './undo-plan.types.js';

const organization = (changes: Partial<CurrentOrganization> = {}): CurrentOrganization => ({
  ...{ id: 'o', digest: 'o1', isDeleted: false, isUsed: false, sites: [{ id: 's', digest: 's1' }], links: [] },
  ...{ usedSince: [], ...changes },
});
const current = (changes: Partial<CurrentRecords> = {}): CurrentRecords => ({
  ...{ organizations: [organization()], sites: [], contacts: [] },
  ...changes,
});
let sequence = 0;
const change = (changes: Partial<OpenChange>): OpenChange => ({
  ...{ seq: String((sequence += 1)), orgId: 'o', resource: 'site', action: 'update', recordId: 's', before: null },
  ...{ after: null, digestBefore: null, digestAfter: null, ...changes },
});
const creation = (changes: Partial<OpenChange> = {}) =>
  change({
    ...{ resource: 'organization', action: 'create', recordId: 'o', digestAfter: 'o1' },
    ...{ after: { sites: [{ id: 's', digest: 's1' }], links: [] }, ...changes },
  });
const outcomesOf = (changes: OpenChange[], state: CurrentRecords) =>
  planUndo(changes, state).outcomes.map(({ outcome, reason }) => reason ?? outcome);

describe('planUndo', () => {
  it.each<[string, string, Partial<CurrentOrganization> | null]>([
    ['as it was created', 'removed', {}],
    ['that the caller does not see', 'no_access', null],
    ['that is deleted', 'deleted', { isDeleted: true }],
    ['that was changed', 'changed', { digest: 'o2' }],
    ['that is used', 'in_use', { isUsed: true }],
    [
      'with a site of its own',
      'in_use',
      {
        sites: [
          { id: 's', digest: 's1' },
          { id: 't', digest: 't1' },
        ],
      },
    ],
    ['with a changed site', 'changed', { sites: [{ id: 's', digest: 's2' }] }],
    ['without its site', 'changed', { sites: [] }],
    ['with another link', 'in_use', { links: [{ system: 'crm', externalId: '1', connectionId: null }] }],
  ])('decides on a created organization %s: %s', (_, expected, stored) => {
    const organizations = stored === null ? [] : [organization(stored)];
    expect(outcomesOf([creation()], current({ organizations }))).toEqual([expected]);
  });

  it('moves a link back to the deleted organization it was taken from, and removes the others', () => {
    const key = { system: 'csv', connectionId: null };
    const links = [
      { ...key, externalId: '1', formerOrgId: 'former' },
      { ...key, externalId: '2', formerOrgId: null },
    ];
    const plan = planUndo(
      [creation({ after: { sites: [{ id: 's', digest: 's1' }], links } })],
      current({ organizations: [organization({ links: links.map(({ formerOrgId: _, ...link }) => link) })] }),
    );
    expect(plan.movedLinks).toEqual([{ orgId: 'o', formerOrgId: 'former', ...key, externalId: '1' }]);
    expect(plan.removedLinks).toEqual([{ orgId: 'o', ...key, externalId: '2' }]);
    expect(plan.removedOrganizations).toEqual(['o']);
  });

  it('restores the first of several changes of a record when it was not changed otherwise in between', () => {
    const site = { id: 's', digest: 's3', isDeleted: false, isUsed: true };
    const first = change({ before: { timezone: 'UTC' }, digestBefore: 's1', digestAfter: 's2' });
    const second = change({ before: { timezone: 'Asia/Tokyo' }, digestBefore: 's2', digestAfter: 's3' });
    const plan = planUndo([first, second], current({ sites: [site] }));
    expect(plan.restoredSites).toMatchObject([{ id: 's', timezone: 'UTC' }]);
    expect(plan.outcomes.map(({ outcome }) => outcome)).toEqual(['restored', 'restored']);
    const interrupted = { ...second, digestBefore: 'edited' };
    const partly = planUndo([first, interrupted], current({ sites: [site] }));
    expect(partly.restoredSites).toMatchObject([{ timezone: 'Asia/Tokyo' }]);
    expect(partly.outcomes).toMatchObject([
      { seq: first.seq, outcome: 'kept', reason: 'changed' },
      { seq: second.seq, outcome: 'restored' },
    ]);
  });

  it.each([
    ['unused', false, 'removed'],
    ['used', true, 'in_use'],
  ])('decides on a created site that is %s', (_, isUsed, expected) => {
    const site = { id: 's', digest: 's1', isDeleted: false, isUsed };
    expect(outcomesOf([change({ action: 'create', digestAfter: 's1' })], current({ sites: [site] }))).toEqual([
      expected,
    ]);
  });

  it('keeps a contact whose former site is deleted, one that was changed and one that is gone', () => {
    const updated = (changes: Partial<OpenChange>) =>
      change({ resource: 'contact', recordId: 'c', digestBefore: 'c1', digestAfter: 'c2', ...changes });
    const state = current({ contacts: [{ id: 'c', digest: 'c2' }] });
    expect(outcomesOf([updated({ before: { siteId: 'gone' } })], state)).toEqual(['changed']);
    expect(outcomesOf([updated({ before: { siteId: null }, digestAfter: 'c9' })], state)).toEqual(['changed']);
    expect(outcomesOf([updated({ recordId: 'other' })], state)).toEqual(['deleted']);
    expect(outcomesOf([updated({ before: { siteId: null } })], state)).toEqual(['restored']);
  });

  it('deletes a reactivated organization again unless something was built on it since', () => {
    const before = { slug: 'acme', status: 'active', deletedAt: '2026-01-02T03:04:05.678Z' };
    const reactivation = change({
      ...{ resource: 'organization', action: 'reactivate', recordId: 'o', before, digestAfter: 'o1' },
    });
    expect(planUndo([reactivation], current()).deletedOrganizations).toEqual([{ id: 'o', ...before }]);
    const used = [organization({ usedSince: [reactivation.seq] })];
    expect(outcomesOf([reactivation], current({ organizations: used }))).toEqual(['in_use']);
  });
});
