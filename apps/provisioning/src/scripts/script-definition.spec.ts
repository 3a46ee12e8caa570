import { definitionSha256, isNestedAtMost, type ScriptDefinition } from './script-definition.js';

const DEFINITION: ScriptDefinition = {
  osTypes: ['linux', 'macos'],
  language: 'bash',
  content: 'df -h',
  parameters: { a: 1, b: { c: [1, 2], d: null } },
  runAs: 'system',
  timeoutSeconds: 300,
  exitCodeSeverityMapping: { '1': 'high', '-1': null },
};

describe('definitionSha256', () => {
  const digest = definitionSha256(DEFINITION);

  it('is the same for another order of keys and operating systems', () => {
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    const parameters = { b: { d: null, c: [1, 2] }, a: 1 };
    const exitCodeSeverityMapping = { '-1': null, '1': 'high' as const };
    const same = { ...DEFINITION, osTypes: ['macos' as const, 'linux' as const], parameters, exitCodeSeverityMapping };
    expect(definitionSha256(same)).toBe(digest);
  });

  it.each<Partial<ScriptDefinition>>([
    { osTypes: ['linux'] },
    { language: 'python' },
    { content: 'df -h ' },
    { parameters: { a: 1, b: { c: [2, 1], d: null } } },
    { parameters: null },
    { runAs: 'user' },
    { timeoutSeconds: 301 },
    { exitCodeSeverityMapping: null },
  ])('differs for %j', (change) => {
    expect(definitionSha256({ ...DEFINITION, ...change })).not.toBe(digest);
  });
});

describe('isNestedAtMost', () => {
  it('counts objects and lists', () => {
    expect(isNestedAtMost('x', 0)).toBe(true);
    expect(isNestedAtMost({}, 0)).toBe(false);
    expect(isNestedAtMost({ a: [null] }, 2)).toBe(true);
    expect(isNestedAtMost({ a: [{}] }, 2)).toBe(false);
  });

  it('ends early in JSON that is nested very deep', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    expect(isNestedAtMost(deep, 64)).toBe(false);
  });
});
