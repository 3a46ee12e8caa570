import { definitionSha256 } from '../script-definition.js';
import { toScriptFields } from '../script.mapper.js';
import type { ScriptName } from '../scripts.repository.js';
import type { BundleEntry } from './bundle-entries.js';
import { BundlePlanner } from './bundle-plan.policy.js';

const fieldsOf = (name: string, content = 'df -h') => ({
  name,
  osTypes: ['linux' as const],
  language: 'bash' as const,
  content,
});
const entry = (name: string, content?: string): BundleEntry => ({
  index: 0,
  name,
  nameKey: name.toLowerCase(),
  fields: fieldsOf(name, content),
  error: null,
});
const INVALID: BundleEntry = { index: 1, name: null, nameKey: '', fields: null, error: 'name: must not be empty' };
const stored = (name: string, orgId: string | null): ScriptName => ({
  id: `id of ${name}`,
  orgId,
  nameKey: name.toLowerCase(),
  version: 3,
  definitionSha256: definitionSha256(toScriptFields(fieldsOf(name))),
});
const plannerOf = (names: ScriptName[], orgId: string | null = 'org', max = 10) =>
  new BundlePlanner(names, { partnerId: 'partner', orgId }, max);

describe('BundlePlanner', () => {
  it('previews what each entry meets', () => {
    const planner = plannerOf([stored('Own', 'org'), stored('Wide', null)]);
    expect(planner.preview(entry('New'))).toEqual({ index: 0, name: 'New', status: 'new' });
    expect(planner.preview(entry('OWN'))).toMatchObject({
      status: 'name-conflict',
      conflictKind: 'same-owner',
      existingScriptId: 'id of Own',
      existingVersion: 3,
    });
    expect(planner.preview(entry('Wide'))).toMatchObject({
      conflictKind: 'partner-wide',
      existingScriptId: 'id of Wide',
    });
    expect(planner.preview(entry('new'))).toEqual({
      index: 0,
      name: 'new',
      status: 'name-conflict',
      conflictKind: 'in-bundle',
    });
    expect(planner.preview(INVALID)).toEqual({ index: 1, name: null, status: 'invalid', error: INVALID.error });
  });

  it('creates new scripts, and refuses invalid entries and names of scripts of the partner in every mode', () => {
    for (const mode of ['skip', 'rename', 'new-version'] as const) {
      const planner = plannerOf([stored('Wide', null)]);
      expect(planner.decide(entry('New'), mode)).toMatchObject({ action: 'create', finalName: null });
      expect(planner.decide(entry('Wide'), mode)).toMatchObject({ action: 'refuse' });
      expect(planner.decide(INVALID, mode)).toEqual({ action: 'refuse', error: INVALID.error });
      const ofPartner = plannerOf([stored('Wide', null)], null);
      expect(ofPartner.decide(entry('Wide'), mode).action).not.toBe('refuse');
    }
  });

  it('skips, renames or replaces what exists', () => {
    const planner = plannerOf([stored('Own', 'org'), stored('Own (2)', 'org'), stored('Own (3)', null)]);
    expect(planner.decide(entry('own', 'other'), 'skip')).toEqual({ action: 'skip', scriptId: 'id of Own' });
    expect(planner.decide(entry('Own'), 'rename')).toMatchObject({ action: 'create', finalName: 'Own (4)' });
    expect(planner.decide(entry('Own'), 'new-version')).toEqual({ action: 'skip', scriptId: 'id of Own' });
    expect(planner.decide(entry('Own', 'other'), 'new-version')).toMatchObject({
      action: 'new-version',
      scriptId: 'id of Own',
      fields: { content: 'other' },
    });
  });

  it('shortens a long name for its number', () => {
    const name = 'x'.repeat(255);
    const decision = plannerOf([stored(name, 'org')]).decide(entry(name), 'rename');
    expect(decision).toMatchObject({ finalName: `${'x'.repeat(251)} (2)` });
  });

  it('sees the scripts of earlier entries, and the limit of the owner', () => {
    const planner = plannerOf([stored('A', 'org')], 'org', 2);
    planner.add(stored('B', 'org'));
    expect(planner.decide(entry('B'), 'skip')).toMatchObject({ action: 'skip' });
    expect(planner.decide(entry('C'), 'skip')).toMatchObject({
      action: 'refuse',
      error: expect.stringContaining('2 scripts'),
    });
  });
});
