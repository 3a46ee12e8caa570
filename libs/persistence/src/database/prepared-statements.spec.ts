import { prepared } from './prepared-statements.js';

describe('prepared', () => {
  it('gives each text with parameters one name, and a text without parameters none', () => {
    const { name } = prepared('SELECT $1', ['a']);
    expect(name).toMatch(/^rmm_\d+$/);
    expect(prepared('SELECT $1', ['b']).name).toBe(name);
    expect(prepared('SELECT $1::int', [1]).name).not.toBe(name);
    expect(prepared('SELECT 1', []).name).toBeUndefined();
  });

  it.each<[string, unknown, unknown]>([
    ['list', Array.from({ length: 100 }, String), Array.from({ length: 101 }, String)],
    ['text of rows', 'x'.repeat(8_192), 'x'.repeat(8_193)],
  ])('names no statement for a large %s, which is planned for its values', (_, small, large) => {
    expect(prepared('SELECT $1, $2', [1, small]).name).toMatch(/^rmm_/);
    expect(prepared('SELECT $1, $2', [1, large])).toEqual({ text: 'SELECT $1, $2' });
  });
});
