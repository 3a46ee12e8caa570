interface Parameter {
  name: string;
  in: string;
  schema?: { type?: string; format?: string; enum?: unknown[]; items?: { enum?: unknown[]; format?: string } };
}

interface Document {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>;
}

/** A paged list of the API. */
export interface ListOperation {
  /** Below `/api/v1`, with the values of its path parameters. */
  path: string;
  /** The names of its query parameters. */
  parameters: readonly string[];
  /** A query string per filter, without those that page or sort. */
  filters: readonly string[];
  /** A query string per parameter that a value was given for as `<name>!`: the list needs it. */
  required: readonly string[];
}

const PAGING = ['page', 'limit', 'cursor', 'sort', 'sortDir', 'order', 'include', 'includeTotal'];

/**
 * Returns the lists of a service: GET operations with the query parameter `page` or `cursor`.
 * @param document  the body of `/openapi.json`
 * @param values  values of path parameters and of filters whose schema does not name them
 * @throws Error when a path parameter has no value, so that a new list is not left out
 */
export function listOperations(document: Document, values: Readonly<Record<string, string>>): ListOperation[] {
  return Object.entries(document.paths).flatMap(([template, { get }]) => {
    const parameters = (get?.parameters ?? []).filter((parameter) => parameter.in === 'query');
    if (!parameters.some(({ name }) => name === 'page' || name === 'cursor')) return [];
    const path = template.replace('/api/v1', '').replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[`${template.split('/')[3]}.${name}`] ?? values[name];
      if (value === undefined) throw new Error(`${template}: the spec has no value for ${name}`);
      return value;
    });
    const filters = parameters
      .filter(({ name }) => !PAGING.includes(name))
      .map(
        (parameter) =>
          `${parameter.name}=${encodeURIComponent(values[parameter.name] ?? values[`${parameter.name}!`] ?? exampleOf(parameter))}`,
      );
    const required = parameters
      .filter(({ name }) => values[`${name}!`] !== undefined)
      .map(({ name }) => `${name}=${values[`${name}!`]}`);
    return [{ path, parameters: parameters.map(({ name }) => name), filters, required }];
  });
}

function exampleOf({ schema = {} }: Parameter): string {
  const [first] = schema.enum ?? schema.items?.enum ?? [];
  if (typeof first === 'string') return first;
  const format = schema.format ?? schema.items?.format;
  if (format === 'uuid') return '00000000-0000-4000-8000-000000000000';
  if (format === 'date-time') return '2026-01-01T00:00:00Z';
  return schema.type === 'boolean' ? 'true' : 'example';
}
