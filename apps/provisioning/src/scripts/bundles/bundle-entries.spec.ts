import { createHash } from 'node:crypto';
import { ValidationError } from '@rmm/service-kit';
import { UnsupportedBundleVersion } from '../script.errors.js';
import { MAX_BUNDLE_SCRIPTS, readBundle } from './bundle-entries.js';

const SCRIPT = { name: ' Disk  space ', osTypes: ['linux'], language: 'bash', content: 'df -h\r\n' };
const read = (...scripts: unknown[]) => readBundle({ bundleVersion: 1, scripts });

describe('readBundle', () => {
  it('reads valid entries, and keeps the content as it is', async () => {
    const { entries, warnings } = await read(SCRIPT, { ...SCRIPT, tags: ['a', 'a'], parameters: null });
    expect(warnings).toEqual([]);
    expect(entries[0]).toMatchObject({ index: 0, name: 'Disk  space', nameKey: 'disk space', error: null });
    expect(entries[0]?.fields?.content).toBe('df -h\r\n');
    expect(entries[1]?.fields?.tags).toEqual(['a']);
  });

  it.each<[string, unknown, RegExp]>([
    ['a text', 'x', /^must be an object$/],
    ['null', null, /^must be an object$/],
    ['a list', [], /^must be an object$/],
    ['no name', { ...SCRIPT, name: '' }, /^name: /],
    ['a number as name', { ...SCRIPT, name: 7 }, /^name: /],
    ['no operating system', { ...SCRIPT, osTypes: [] }, /^osTypes: /],
    ['another language', { ...SCRIPT, language: 'ruby' }, /^language: /],
    ['large content', { ...SCRIPT, content: 'x'.repeat(262_145) }, /^content: /],
    ['NUL', { ...SCRIPT, content: 'a\u0000' }, /^content: /],
    ['much time', { ...SCRIPT, timeoutSeconds: 3_601 }, /^timeoutSeconds: /],
    ['deep parameters', { ...SCRIPT, parameters: [[[[[[[[[]]]]]]]]] }, /^parameters: /],
    ['a mapping to null', { ...SCRIPT, exitCodeSeverityMapping: { '0': null } }, /^exitCodeSeverityMapping: /],
    ['two problems', { ...SCRIPT, language: 'x', runAs: 'x' }, /^(language|runAs): .+; (language|runAs): /],
  ])('refuses an entry that has %s, and that one only', async (_, script, error) => {
    const { entries } = await read(SCRIPT, script);
    expect(entries.map(({ fields }) => fields !== null)).toEqual([true, false]);
    expect(entries[1]?.error).toMatch(error);
  });

  it('ignores fields of tenancy and of built-in scripts, and reports unknown columns', async () => {
    const given = {
      ...SCRIPT,
      id: 'x',
      isSystem: true,
      orgId: 'x',
      partnerId: 'x',
      version: 9,
      __proto__x: 1,
      constructor: 2,
    };
    const { entries, warnings } = await read(SCRIPT, given);
    expect(entries[1]?.error).toBeNull();
    expect(Object.keys(entries[1]?.fields ?? {}).sort()).toEqual(['content', 'language', 'name', 'osTypes']);
    expect(warnings.map(({ column }) => column).sort()).toEqual(
      ['__proto__x', 'constructor', 'id', 'isSystem', 'orgId', 'partnerId', 'version'].sort(),
    );
    expect(warnings[0]).toMatchObject({ code: 'unknown-column', rows: [1] });
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${'k'.repeat(200)}${n}`, 1]));
    expect((await read({ ...SCRIPT, ...many })).warnings.length).toBeLessThanOrEqual(50);
  });

  it('refuses bundles as a whole that are no bundles', async () => {
    for (const bundleVersion of [undefined, 2, '1', null]) {
      await expect(readBundle({ bundleVersion, scripts: [] })).rejects.toBeInstanceOf(UnsupportedBundleVersion);
    }
    const many = Array.from({ length: MAX_BUNDLE_SCRIPTS + 1 }, () => SCRIPT);
    for (const scripts of [undefined, {}, 'x', many]) {
      await expect(readBundle({ bundleVersion: 1, scripts })).rejects.toBeInstanceOf(ValidationError);
    }
    const deep = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as unknown;
    await expect(read({ ...SCRIPT, parameters: deep })).rejects.toBeInstanceOf(ValidationError);
    await expect(readBundle({ bundleVersion: 1, scripts: [], extra: deep })).rejects.toBeInstanceOf(ValidationError);
  });

  it('hashes the bundle as compact JSON', async () => {
    for (const scripts of [[], [SCRIPT], [SCRIPT, 'x', { ...SCRIPT, extra: { b: 1, a: [] } }]]) {
      const bundle = { bundleVersion: 1, exportedAt: 'now', scripts, more: null };
      const expected = createHash('sha256').update(JSON.stringify(bundle)).digest('hex');
      expect((await readBundle(bundle)).sha256).toBe(expected);
    }
  });
});
