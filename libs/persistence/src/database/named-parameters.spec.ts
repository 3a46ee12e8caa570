import { bindParameters, compileNamedParameters } from './named-parameters.js';

describe('named parameters', () => {
  it('numbers names in the order of their first use and reuses the number of a repeated name', () => {
    expect(bindParameters('SELECT :a, :b WHERE x = :a', { a: 1, b: 2 })).toEqual({
      text: 'SELECT $1, $2 WHERE x = $1',
      values: [1, 2],
    });
  });

  it('binds a list as it is', () => {
    expect(bindParameters('SELECT $1::text', ['x'])).toEqual({ text: 'SELECT $1::text', values: ['x'] });
    expect(bindParameters('SELECT 1')).toEqual({ text: 'SELECT 1', values: [] });
  });

  it.each([
    ['a cast', 'SELECT :id::uuid, now()::date', 'SELECT $1::uuid, now()::date'],
    ['a string', `SELECT 'a :no ''b :no', :id`, `SELECT 'a :no ''b :no', $1`],
    ['an escape string', String.raw`SELECT E'it\'s :no', :id`, String.raw`SELECT E'it\'s :no', $1`],
    ['a quoted identifier', 'SELECT "a:no", :id', 'SELECT "a:no", $1'],
    ['a line comment', 'SELECT 1 -- :no\n, :id', 'SELECT 1 -- :no\n, $1'],
    ['a block comment', 'SELECT 1 /* :no\n :no */, :id', 'SELECT 1 /* :no\n :no */, $1'],
    ['a dollar-quoted text', 'SELECT $x$ :no $$ :no $x$, $$ :no $$, :id', 'SELECT $x$ :no $$ :no $x$, $$ :no $$, $1'],
    ['an array slice', 'SELECT tags[1:n], tags[(a):n], :id', 'SELECT tags[1:n], tags[(a):n], $1'],
    ['a cast right after a name', 'SELECT :id::text[]', 'SELECT $1::text[]'],
  ])('leaves %s alone', (_what, sql, text) => {
    expect(compileNamedParameters(sql)).toEqual({ text, names: ['id'] });
  });

  it('throws when a name has no value', () => {
    expect(() => bindParameters('SELECT :id, :name', { id: 1 })).toThrow('No value for the parameter :name');
  });

  it('throws when a value is not used', () => {
    expect(() => bindParameters('SELECT :id', { id: 1, nmae: 2 })).toThrow('has no parameter :nmae');
  });

  it('binds an undefined value as it is, which PostgreSQL receives as NULL', () => {
    expect(bindParameters('SELECT :id', { id: undefined }).values).toEqual([undefined]);
  });

  it('compiles a text once', () => {
    const sql = 'SELECT :once';
    expect(compileNamedParameters(sql)).toBe(compileNamedParameters(sql));
  });
});
