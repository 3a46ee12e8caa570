import { IsText } from '@rmm/validation';
import { MAX_RESULTS } from './scim.config.js';

const INTEGER = { max: 10, pattern: /^-?\d{1,9}$/, optional: true } as const;
const NAMES = { max: 2_000, pattern: /^[A-Za-z0-9:.$_, -]*$/, optional: true } as const;

/** The attributes of a response. */
export class ScimAttributesDto {
  @IsText({ ...NAMES, description: 'Only these attributes, separated by commas', example: 'userName,active' })
  attributes?: string;

  @IsText({ ...NAMES, description: 'All but these attributes, separated by commas', example: 'members' })
  excludedAttributes?: string;
}

export class ScimListDto extends ScimAttributesDto {
  @IsText({
    max: 2_000,
    optional: true,
    description: 'Conditions with `eq`, joined by `and`',
    example: 'userName eq "ann@example.com"',
  })
  filter?: string;

  @IsText({ ...INTEGER, description: 'The first resource, from 1', example: '1' })
  startIndex?: string;

  @IsText({ ...INTEGER, description: `Resources of the page, at most ${MAX_RESULTS}`, example: '100' })
  count?: string;
}

export interface ScimPage {
  offset: number;
  limit: number;
}

/** Values outside of the range count as its ends, as RFC 7644 says. */
export function pageOf({ startIndex = '1', count = String(MAX_RESULTS) }: ScimListDto): ScimPage {
  return {
    offset: Math.max(1, Number(startIndex)) - 1,
    limit: Math.min(MAX_RESULTS, Math.max(0, Number(count))),
  };
}

const ALWAYS = new Set(['schemas', 'id']);

/** Returns a resource with the attributes that a request asks for. */
export function project<R extends object>(resource: R, { attributes, excludedAttributes }: ScimAttributesDto): R {
  const wanted = pathsOf(attributes);
  if (wanted.length > 0) return select(resource, wanted);
  const excluded = pathsOf(excludedAttributes);
  return excluded.length > 0 ? omit(resource, excluded) : resource;
}

/** Returns false when a request does not ask for an attribute that costs a query. */
export function isRequested(name: string, { attributes, excludedAttributes }: ScimAttributesDto): boolean {
  const wanted = pathsOf(attributes);
  if (wanted.length > 0) return wanted.some(([root]) => root === name.toLowerCase());
  return !pathsOf(excludedAttributes).some(([root, sub]) => root === name.toLowerCase() && sub === undefined);
}

function select<R extends object>(resource: R, wanted: readonly Path[]): R {
  const entries = Object.entries(resource).flatMap(([name, value]): [string, unknown][] => {
    if (ALWAYS.has(name)) return [[name, value]];
    const paths = wanted.filter(([root]) => root === name.toLowerCase());
    if (paths.length === 0) return [];
    const subs = paths.flatMap(([, sub]) => sub ?? []);
    return [[name, subs.length < paths.length ? value : inner(value, (key) => subs.includes(key))]];
  });
  return Object.fromEntries(entries) as R;
}

function omit<R extends object>(resource: R, excluded: readonly Path[]): R {
  const entries = Object.entries(resource).flatMap(([name, value]): [string, unknown][] => {
    const paths = ALWAYS.has(name) ? [] : excluded.filter(([root]) => root === name.toLowerCase());
    if (paths.some(([, sub]) => sub === undefined)) return [];
    return [[name, paths.length === 0 ? value : inner(value, (key) => !paths.some(([, sub]) => sub === key))]];
  });
  return Object.fromEntries(entries) as R;
}

/** Keeps attributes of a complex value, or of each value of a list. */
function inner(value: unknown, keeps: (name: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => inner(item, keeps));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => keeps(name.toLowerCase())));
}

type Path = readonly [root: string, sub?: string];

/** Reads names in lower case, without the schema that they may begin with. */
function pathsOf(text = ''): Path[] {
  return text
    .split(',')
    .map((name) =>
      name
        .trim()
        .toLowerCase()
        .replace(/^urn:[a-z0-9:.]*:(?:user|group):/, ''),
    )
    .filter((name) => name !== '')
    .map((name) => name.split('.', 2) as [string, string?]);
}
