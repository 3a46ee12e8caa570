import type { CustomFieldType } from './custom-field-definition.entity.js';
import { findPatchProblems, findValueProblem, type CustomFieldRule } from './custom-field-values.policy.js';

describe('findValueProblem', () => {
  it.each<[CustomFieldType, unknown[], unknown[]]>([
    ['text', ['', 'a'], [1, true, null]],
    ['number', [0, -1.5], ['1', true, Number.NaN, Number.POSITIVE_INFINITY]],
    ['boolean', [true, false], ['true', 0]],
    ['date', ['2026-02-28', '2024-02-29'], ['2026-02-29', '2026-2-1', '28.02.2026', '2026-02-28T00:00:00Z', 20260228]],
    ['dropdown', ['A', 'B'], ['a', 'C', '', 1]],
  ])('%s', (type, allowed, refused) => {
    const problemOf = (value: unknown) => findValueProblem({ type, options: ['A', 'B'] }, value);
    expect(allowed.map(problemOf)).toEqual(allowed.map(() => null));
    expect(refused.map(problemOf)).toEqual(refused.map(() => expect.stringMatching(/^must be /)));
  });
});

describe('findPatchProblems', () => {
  const rule = (more: Partial<CustomFieldRule> = {}): CustomFieldRule => ({
    fieldKey: 'rack',
    type: 'text',
    options: [],
    required: false,
    defaultValue: null,
    deviceTypes: [],
    ...more,
  });
  const problemsOf = (one: CustomFieldRule, set: Record<string, string | number>, remove: string[] = []) =>
    findPatchProblems([one], 'linux', { set, remove, keys: [...Object.keys(set), ...remove] });

  it('names the fields whose values have another type', () => {
    expect(problemsOf(rule(), { rack: 1, other: 1 })).toEqual({ rack: ['must be text'] });
    expect(problemsOf(rule(), { rack: 'A1' })).toEqual({});
  });

  it('refuses a field of other devices', () => {
    const ofWindows = rule({ deviceTypes: ['windows'], required: true });
    expect(problemsOf(ofWindows, { rack: 'A1' })).toEqual({ rack: ['is not a field of linux devices'] });
    expect(problemsOf(ofWindows, {}, ['rack'])).toEqual({});
    expect(problemsOf(rule({ deviceTypes: ['windows', 'linux'] }), { rack: 'A1' })).toEqual({});
  });

  it('refuses the removal of a required field without a default', () => {
    expect(problemsOf(rule({ required: true }), {}, ['rack'])).toEqual({ rack: ['is required'] });
    expect(problemsOf(rule({ required: true, defaultValue: 'A1' }), {}, ['rack'])).toEqual({});
    expect(problemsOf(rule({ required: true }), {})).toEqual({});
  });
});
