// Keeps docs/api/CHANGELOG.md: what each release of the documents added, deprecated and removed.
import { createHash } from 'node:crypto';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const DIGEST = /<!-- documents: ([0-9a-f]*) -->/;

/**
 * Returns what clients can see of the API, as sorted entries: operations, parameters, fields, values and event types. A
 * change of texts, examples and limits is none.
 * @returns entries with the keys of those they are a part of: `{ kind, name, of }`
 */
export function surfaceOf(openApi, asyncApi) {
  const entries = [...operationEntries(openApi), ...fieldEntries(openApi), ...eventEntries(asyncApi)];
  const byKey = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...byKey.keys()].sort().map((key) => byKey.get(key));
}

/** Returns a line for each entry that one of two surfaces has; parts of an added or removed entry have none. */
export function changesBetween(before, now) {
  const lines = [...missingIn(before, now).map(addedLine), ...missingIn(now, before).map(removedLine)];
  return lines.sort();
}

/** Returns the digest of a surface, which the changelog records. */
export function digestOf(surface) {
  return createHash('sha256').update(surface.map(keyOf).join('\n')).digest('hex').slice(0, 16);
}

/** Returns the digest that a changelog records, undefined without one. */
export const recordedDigest = (changelog) => DIGEST.exec(changelog)?.[1];

/** Returns the changelog with new lines in the section of a day, and the digest of the documents. */
export function withChanges(changelog, { day, changes, digest }) {
  const text = changelog.replace(DIGEST, `<!-- documents: ${digest} -->`);
  const heading = `## ${day}\n\n`;
  const listed = (text.split(heading)[1] ?? '').split('\n## ')[0].split('\n');
  const added = changes.map((line) => `- ${line}`).filter((line) => !listed.includes(line));
  if (added.length === 0) return text;
  if (text.includes(heading)) return text.replace(heading, `${heading}${added.join('\n')}\n`);
  const marker = `<!-- documents: ${digest} -->\n`;
  return text.replace(marker, `${marker}\n${heading}${added.join('\n')}\n`);
}

const keyOf = ({ kind, name }) => `${kind} ${name}`;

function missingIn(surface, other) {
  const known = new Set(surface.map(keyOf));
  const found = other.filter((entry) => !known.has(keyOf(entry)));
  const keys = new Set(found.map(keyOf));
  return found.filter(({ of = [] }) => !of.some((whole) => keys.has(whole)));
}

const addedLine = ({ kind, name }) => (kind === 'deprecation' ? `**Deprecated** ${name}` : `**New** ${kind} ${name}`);

const removedLine = ({ kind, name }) =>
  kind === 'deprecation' ? `**Changed** ${name} is not deprecated any more` : `**Removed** ${kind} ${name}`;

function* operationEntries({ paths }) {
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS.filter((each) => each in item)) {
      const name = `\`${method.toUpperCase()} ${path}\``;
      const of = [`operation ${name}`];
      yield { kind: 'operation', name };
      if (item[method].deprecated) yield { kind: 'deprecation', name };
      for (const parameter of item[method].parameters ?? []) {
        yield { kind: 'parameter', name: `\`${parameter.name}\` (${parameter.in}) of ${name}`, of };
      }
      for (const [status, codes] of Object.entries(item[method]['x-error-codes'] ?? {})) {
        for (const code of codes) yield { kind: 'error code', name: `\`${code}\` (${status}) of ${name}`, of };
      }
    }
  }
}

function* fieldEntries({ components }) {
  for (const [schema, { properties = {} }] of Object.entries(components.schemas)) {
    const of = [`schema \`${schema}\``];
    yield { kind: 'schema', name: `\`${schema}\`` };
    for (const [field, value] of Object.entries(properties)) {
      const name = `\`${schema}.${field}\``;
      yield { kind: 'field', name, of };
      for (const word of value.enum ?? value.items?.enum ?? []) {
        yield { kind: 'value', name: `\`${word}\` of ${name}`, of: [...of, `field ${name}`] };
      }
    }
  }
}

function* eventEntries({ components }) {
  for (const [type, { payload }] of Object.entries(components.messages)) {
    const name = `\`${type}\``;
    yield { kind: 'event', name };
    for (const field of Object.keys(payload.properties.data.properties ?? {})) {
      yield { kind: 'event field', name: `\`${field}\` of ${name}`, of: [`event ${name}`] };
    }
  }
}
