import type { SqlParams } from './sql-executor.js';

/** A statement whose `:name` placeholders were replaced by `$1`, `$2`, ... */
export interface CompiledStatement {
  text: string;
  /** The names in the order of their numbers. */
  names: readonly string[];
}

export interface BoundStatement {
  text: string;
  values: unknown[];
}

const MAX_COMPILED = 2_000;
const compiled = new Map<string, CompiledStatement>();

/**
 * Matches what may contain a colon without being a placeholder (strings, quoted identifiers, comments, dollar quotes,
 * casts, array slices), and then a placeholder, whose name is group 2.
 */
const TOKEN = new RegExp(
  [
    String.raw`\b[eE]'(?:[^'\\]|''|\\.)*'`,
    String.raw`'(?:[^']|'')*'`,
    String.raw`"(?:[^"]|"")*"`,
    String.raw`--[^\n]*`,
    String.raw`/\*[\s\S]*?\*/`,
    String.raw`(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1`,
    String.raw`::`,
    String.raw`[\w\])]:(?=\w)`,
    String.raw`:([A-Za-z_]\w*)`,
  ].join('|'),
  'g',
);

/**
 * Replaces `:name` with `$n`; the same name gets the same number. Strings, quoted identifiers, comments, dollar-quoted
 * texts and `::type` casts are left as they are.
 */
export function compileNamedParameters(sql: string): CompiledStatement {
  const known = compiled.get(sql);
  if (known !== undefined) return known;
  const names: string[] = [];
  const text = sql.replace(TOKEN, (token: string, _tag: string | undefined, name: string | undefined) => {
    if (name === undefined) return token;
    const index = names.indexOf(name);
    return `$${index === -1 ? names.push(name) : index + 1}`;
  });
  const statement = { text, names };
  if (compiled.size < MAX_COMPILED) compiled.set(sql, statement);
  return statement;
}

/**
 * Binds parameters given as a list or by name.
 * @throws Error when a name of the text has no value, or a value is not used by the text
 */
export function bindParameters(sql: string, params: SqlParams = []): BoundStatement {
  if (Array.isArray(params)) return { text: sql, values: params as unknown[] };
  const { text, names } = compileNamedParameters(sql);
  const given = params as Readonly<Record<string, unknown>>;
  const values = names.map((name) => {
    if (!(name in given)) throw new Error(`No value for the parameter :${name} of the statement: ${sql}`);
    return given[name];
  });
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`The statement has no parameter :${unknown.join(', :')}: ${sql}`);
  return { text, values };
}
