import { parse, type Filter } from 'scim2-parse-filter';
import { ScimBadRequest } from './scim.errors.js';

const MAX_LENGTH = 512;
const MAX_CONDITIONS = 4;

/** One condition of a filter: an attribute that equals a value. */
export interface FilterCondition<Name extends string> {
  attribute: Name;
  value: string;
}

/** Attributes of a filter in lower case, and what they are called here. */
export type FilterAttributes<Name extends string> = Readonly<Record<string, Name>>;

/**
 * Reads a filter of conditions with `eq` that `and` joins: what the documented identity providers send.
 * @throws ScimBadRequest  invalidFilter for any other one
 */
export function readFilter<Name extends string>(
  text: string | undefined,
  attributes: FilterAttributes<Name>,
): FilterCondition<Name>[] {
  if (text === undefined || text.trim() === '') return [];
  if (text.length > MAX_LENGTH) throw invalid(`The filter is longer than ${MAX_LENGTH} characters`);
  const conditions = conditionsOf(parseFilter(text));
  if (conditions.length > MAX_CONDITIONS) throw invalid(`The filter has more than ${MAX_CONDITIONS} conditions`);
  return conditions.map(({ path, value }) => {
    const name = path.replace(/^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i, '').toLowerCase();
    if (!Object.hasOwn(attributes, name)) throw invalid(`${name} cannot be filtered by`);
    return { attribute: attributes[name], value };
  });
}

function parseFilter(text: string): Filter {
  try {
    return parse(text);
  } catch (cause) {
    throw new ScimBadRequest('invalidFilter', 'The filter cannot be read', { cause });
  }
}

/** @param prefix  the attribute that `[...]` selects values of */
function conditionsOf(filter: Filter, prefix = ''): { path: string; value: string }[] {
  if (filter.op === 'and' && 'filters' in filter) return filter.filters.flatMap((part) => conditionsOf(part, prefix));
  if (filter.op === '[]' && 'valFilter' in filter && prefix === '')
    return conditionsOf(filter.valFilter, filter.attrPath);
  if (filter.op !== 'eq' || !('compValue' in filter)) throw invalid('Only eq and and are supported');
  const { compValue } = filter;
  if (typeof compValue !== 'string' || compValue.includes('\u0000')) throw invalid('Values must be texts');
  return [{ path: prefix === '' ? filter.attrPath : `${prefix}.${filter.attrPath}`, value: compValue }];
}

const invalid = (text: string) => new ScimBadRequest('invalidFilter', text);
