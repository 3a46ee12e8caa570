// Returns a Postman collection (v2.1) of the operations of an OpenAPI document.

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const BEARER = { type: 'bearer', bearer: [{ key: 'token', value: '{{accessToken}}', type: 'string' }] };
const API_KEY = {
  type: 'apikey',
  apikey: [
    { key: 'key', value: 'X-API-Key', type: 'string' },
    { key: 'value', value: '{{apiKey}}', type: 'string' },
    { key: 'in', value: 'header', type: 'string' },
  ],
};

/** Groups the operations by their first tag. Variables: `baseUrl`, `accessToken`, `apiKey`. */
export function postmanCollection(document) {
  const folders = new Map(document.tags.map(({ name, description }) => [name, { name, description, item: [] }]));
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS.filter((each) => item[each])) {
      folders.get(item[method].tags[0]).item.push(requestOf(document, method, path, item[method]));
    }
  }
  return {
    info: { name: document.info.title, description: document.info.description, schema: SCHEMA },
    auth: BEARER,
    variable: [
      { key: 'baseUrl', value: document.servers[0].url },
      { key: 'accessToken', value: '' },
      { key: 'apiKey', value: '' },
    ],
    item: [...folders.values()].filter(({ item }) => item.length > 0),
  };
}

function requestOf(document, method, path, { summary, description, parameters = [], requestBody, security }) {
  const of = (location) => parameters.filter((parameter) => parameter.in === location);
  const entry = ({ name, description: text }) => ({ key: name, value: '', description: text });
  const segments = path
    .slice(1)
    .split('/')
    .map((part) => part.replace(/^\{(\w+)\}$/, ':$1'));
  const query = of('query').map((parameter) => ({ ...entry(parameter), disabled: !parameter.required }));
  return {
    name: summary,
    request: {
      method: method.toUpperCase(),
      description,
      ...authOf(security),
      header: of('header').map((parameter) => ({ ...entry(parameter), disabled: true })),
      url: {
        raw: `{{baseUrl}}/${segments.join('/')}`,
        host: ['{{baseUrl}}'],
        path: segments,
        ...(query.length > 0 && { query }),
        ...(of('path').length > 0 && { variable: of('path').map(entry) }),
      },
      ...bodyOf(document, requestBody),
    },
  };
}

/** The first credential that an operation lists; that of the collection is a session. */
function authOf(security = []) {
  const [first] = security.flatMap((scheme) => Object.keys(scheme));
  if (first === undefined) return { auth: { type: 'noauth' } };
  return first === 'apiKey' ? { auth: API_KEY } : {};
}

function bodyOf(document, requestBody) {
  const [mediaType, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (mediaType === undefined) return {};
  if (mediaType === 'multipart/form-data') return { body: { mode: 'formdata', formdata: fieldsOf(document, content) } };
  const sample = content.example ?? sampleOf(document, content.schema);
  return { body: { mode: 'raw', raw: JSON.stringify(sample, null, 2), options: { raw: { language: 'json' } } } };
}

function fieldsOf(document, { schema }) {
  const { properties = {} } = resolve(document, schema);
  return Object.entries(properties).map(([key, { format, description }]) => ({
    key,
    description,
    ...(format === 'binary' ? { type: 'file', src: [] } : { type: 'text', value: '' }),
  }));
}

/** Returns a value with the required fields of a schema. */
function sampleOf(document, schema, depth = 0) {
  const own = resolve(document, schema) ?? {};
  if (own.example !== undefined) return own.example;
  if (own.enum) return own.enum[0];
  const [variant] = own.allOf ?? own.oneOf ?? own.anyOf ?? [];
  if (variant && depth < 8) return sampleOf(document, variant, depth + 1);
  const [type] = [own.type ?? 'object'].flat();
  if (type === 'array') return own.items && own.minItems && depth < 8 ? [sampleOf(document, own.items, depth + 1)] : [];
  if (type !== 'object') return { string: '', integer: own.minimum ?? 0, number: 0, boolean: false }[type] ?? null;
  const required = Object.entries(own.properties ?? {}).filter(([name]) => own.required?.includes(name));
  return Object.fromEntries(
    required.map(([name, field]) => [name, depth < 8 ? sampleOf(document, field, depth + 1) : null]),
  );
}

function resolve(document, schema) {
  return schema?.$ref ? document.components.schemas[schema.$ref.split('/').pop()] : schema;
}
