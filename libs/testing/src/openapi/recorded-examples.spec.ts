import { examplesOf, type RecordedCall } from './recorded-examples.js';

const call = (body: unknown, more: Partial<RecordedCall> = {}): RecordedCall => ({
  method: 'post',
  path: '/keys',
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body,
  ...more,
});
const shown = (...calls: RecordedCall[]) => examplesOf(calls, ({ method, path }) => `${method} ${path}`);

describe('examplesOf', () => {
  it.each([
    ['a partner key', `svc_sp_${'x-Y_9'.repeat(9).slice(0, 43)}`],
    ['an API key', `svc_${'x-Y_9'.repeat(7).slice(0, 32)}`],
    ['an enrollment key', '0123456789abcdef'.repeat(4)],
    ['the beginning of a partner key', 'svc_sp_x-Y_9x-Y_9x'],
    ['the beginning of an API key', 'svc_x-Y_9x-Y'],
    ['a refresh token', 'x-Y_9'.repeat(9).slice(0, 43)],
  ])('replaces %s with a constant of the same kind', (_, key) => {
    const [example] = shown(call({ key }))['post /keys'] ?? [];
    const { key: replacement } = example?.response as { key: string };
    expect(replacement).not.toBe(key);
    expect(replacement).toHaveLength(key.length);
    expect(replacement.replace(/^svc_(sp_)?/, '')).toMatch(/^(.)\1*$/);
  });

  it('returns the same for every run: ids by order of appearance, constant times', () => {
    const run = (id: string, other: string, at: string) =>
      shown(call({ id, other, again: id, at, day: at.slice(0, 10) }));
    const first = run(
      '0b5c1d5e-1111-4000-8000-0123456789ab',
      '0b5c1d5e-2222-4000-8000-0123456789ab',
      '2026-01-02T03:04:05.678Z',
    );
    expect(
      run('1b5c1d5e-3333-4000-8000-0123456789ab', '1b5c1d5e-4444-4000-8000-0123456789ab', '2027-01-02T03:04:05.678Z'),
    ).toEqual(first);
    const { id, other, again } = first['post /keys']?.[0]?.response as Record<string, string>;
    expect(again).toBe(id);
    expect(other).not.toBe(id);
  });

  it('returns the first two successful calls, with two items of a list', () => {
    const failed = call({}, { status: 400 });
    const list = call({ data: [1, 2, 3] });
    expect(shown(failed, list, list, list)['post /keys']).toEqual([
      { path: '/keys', status: 200, response: { data: [1, 2] } },
      { path: '/keys', status: 200, response: { data: [1, 2] } },
    ]);
    expect(shown(failed)).toEqual({});
  });
});
