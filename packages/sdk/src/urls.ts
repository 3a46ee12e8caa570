/**
 * Returns the URL of a call.
 * @param path  below `/api/v1`, with its parameters in braces
 * @throws TypeError  for a path parameter without a value
 */
export function createUrl(
  baseUrl: string,
  path: string,
  pathParameters: Readonly<Record<string, unknown>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = textOf(pathParameters[name]);
    if (value === undefined || value === '') throw new TypeError(`${path}: no value for ${name}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const text = Array.isArray(value) ? value.map(textOf).join(',') : textOf(value);
    if (text !== undefined) search.set(name, text);
  }
  const suffix = search.size > 0 ? `?${search.toString()}` : '';
  return `${baseUrl.replace(/\/+$/, '')}/api/v1${filled}${suffix}`;
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}
