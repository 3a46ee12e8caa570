// Lists what is named but not built: `node tools/checks/not-built.mjs` writes the lists into docs/reference.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

const quoted = (text) => [...text.matchAll(/'([^'\n]+)'/g)].map(([, word]) => word);

/** Returns the sources of the services and libs by path, without specs and what only specs use. */
function sources() {
  const patterns = ['apps/*/src/*.ts', 'libs/*/src/*.ts'];
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: ROOT,
  })
    .toString()
    .split('\0')
    .filter((file) => file && fs.existsSync(path.join(ROOT, file)))
    .filter((file) => !/(\.|-)spec\.ts$|^libs\/testing|^apps\/fleet-e2e/.test(file));
  return new Map(files.map((file) => [file, read(file)]));
}

const textOf = (files, isPart) => [...files].flatMap(([file, text]) => (isPart(file) ? [text] : [])).join('\n');

/** Returns the methods, paths and decorators of all routes; a path has no prefix and begins with a slash. */
export function routes(files = sources()) {
  const found = [];
  for (const [file, text] of files) {
    if (!file.endsWith('.controller.ts')) continue;
    const base = /@Controller\(\s*(?:'([^']*)')?/.exec(text)?.[1] ?? '';
    const [, ...chunks] = text
      .slice(text.indexOf('@Controller('))
      .split(/\n(?=  @(?:Get|Post|Put|Patch|Delete|All)\()/);
    for (const chunk of chunks) {
      const [, method, own = ''] = /@(\w+)\(\s*(?:'([^']*)')?/.exec(chunk) ?? [];
      const pathOf = [base, own].filter(Boolean).join('/');
      found.push({ method: method.toUpperCase(), path: `/${pathOf}`, chunk });
    }
  }
  return found;
}

/** Returns the routes that name a word in one of the decorators, by word. */
function routesBy(decorators, files) {
  const byWord = new Map();
  const pattern = new RegExp(`@(?:${decorators.join('|')})\\(([^)]*)\\)`, 'g');
  for (const { method, path: route, chunk } of routes(files)) {
    for (const word of [...chunk.matchAll(pattern)].flatMap(([, words]) => quoted(words))) {
      byWord.set(word, [...(byWord.get(word) ?? []), `${method} ${route}`]);
    }
  }
  return byWord;
}

const sectionOf = (text, name) => new RegExp(`${name}[^{[]*([{[][\\s\\S]*?\\n[}\\]])`).exec(text)?.[1] ?? '';

/** Returns the names of a scope catalog: `'ai:read': [...]`. */
const scopesOf = (name) =>
  [...sectionOf(read('libs/permissions/src/scopes.ts'), name).matchAll(/^\s*'([a-z_:-]+)':/gm)].map(
    ([, scope]) => scope,
  );

function permissions() {
  const vocabulary = sectionOf(read('libs/permissions/src/vocabulary.ts'), 'PERMISSION_VOCABULARY');
  return [...vocabulary.matchAll(/^\s*(\w+): \[([^\]]*)\]/gm)].flatMap(([, resource, actions]) =>
    quoted(actions).map((action) => `${resource}:${action}`),
  );
}

/** Scopes that open tools of MCP; the routes of MCP name only the scope that all its tools need. */
const toolScopes = () => new Set(quoted(read('apps/partner-gateway/src/mcp/tools/tool-access.policy.ts')));

function scopeTable(scopes, decorators, files) {
  const opened = routesBy(decorators, files);
  const tools = toolScopes();
  const rows = scopes.map((scope) => {
    const list = opened
      .get(scope)
      ?.map((route) => `\`${route}\``)
      .join(', ');
    return `| \`${scope}\` | ${list ?? (tools.has(scope) ? 'tools of `POST /mcp/*`' : 'nothing yet')} |`;
  });
  return ['| Scope | Routes |', '| --- | --- |', ...rows].join('\n');
}

const listOf = (words) => words.map((word) => `\`${word}\``).join(', ');

/** Returns the words that no source quotes outside the files that declare them. */
function unused(words, files, declaredIn) {
  const text = textOf(files, (file) => !declaredIn.test(file));
  return words.filter((word) => !text.includes(`'${word}'`));
}

/** Returns the generated blocks: page, name of the block, text. */
export function blocks() {
  const files = sources();
  const required = routesBy(['RequirePermission', 'AcceptsApiKey'], files);
  const actions = quoted(read('libs/contracts/src/audit/audit-actions.ts')).filter((word) => word.includes('.'));
  const unrecorded = unused(actions, files, /audit-actions\.ts$/).filter((action) => !action.startsWith('request.'));
  const eventTypes = quoted(read('libs/contracts/src/events/event.types.ts').split('EVENT_TYPES')[0]);
  const publishers = new Map(
    [...files].filter(([file]) => file.startsWith('apps/') && !file.includes('event-catalog')),
  );
  // The type of a message, or of the parameter with which its message is built.
  const published = textOf(publishers, () => true);
  const unpublished = eventTypes.filter((type) => !new RegExp(`(?:type:|[=|]) '${type}'`).test(published));
  return [
    ['keys.md', 'api-key-scopes', scopeTable(scopesOf('API_KEY_SCOPES'), ['AcceptsApiKey'], files)],
    ['keys.md', 'partner-scopes', scopeTable(scopesOf('PARTNER_SCOPES'), ['PartnerKey'], files)],
    [
      'authorization.md',
      'permissions',
      `No route requires yet: ${listOf(permissions().filter((permission) => !required.has(permission)))}.`,
    ],
    ['audit.md', 'actions', `Not recorded yet: ${listOf(unrecorded)}.`],
    ['events.md', 'types', `No service of this repository publishes: ${listOf(unpublished)}.`],
  ];
}

const markers = (name) => [`<!-- begin ${name}: node tools/checks/not-built.mjs -->`, `<!-- end ${name} -->`];

/** Returns the text between the markers of a block, null without them; tables without the padding of prettier. */
export function blockOf(text, name) {
  const [begin, end] = markers(name);
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  return from < 0 || to < 0 ? null : withoutPadding(text.slice(from + begin.length, to));
}

export const withoutPadding = (text) => text.trim().replace(/ +/g, ' ').replace(/-{3,}/g, '---');

/** Lists prefixes of the edge without a route, and routes without a prefix. */
export function routingProblems() {
  const { routes: prefixes } = JSON.parse(read('deploy/routes.json'));
  const covers = (prefix, route) => `${route}/`.startsWith(`${prefix}/`);
  const served = routes().flatMap(({ path: route }) => [`/api/v1${route}`, route]);
  const all = prefixes.map(({ prefix }) => prefix);
  return [
    ...all
      .filter((prefix) => !served.some((route) => covers(prefix, route)))
      .map((prefix) => `${prefix}: no service serves it`),
    ...routes()
      .filter(({ path: route }) => !all.some((prefix) => covers(prefix, `/api/v1${route}`) || covers(prefix, route)))
      .map(({ path: route }) => `${route}: the edge does not route it`),
  ];
}

/** Lists variables of the tables of docs/reference/configuration.md that no service reads, except those that a line marks as not built. */
export function unreadVariables() {
  const page = read('docs/reference/configuration.md');
  const listed = new Set([...read('.env.example').matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name));
  const marked = [...page.matchAll(/^Not built yet: (.+)$/gm)].flatMap(
    ([, line]) => line.match(/[A-Z][A-Z0-9_]+/g) ?? [],
  );
  const rows = [...page.matchAll(/^\| (`[A-Z][^|]*)\|/gm)].flatMap(
    ([, cell]) => cell.match(/`([A-Z][A-Z0-9_]+)`/g) ?? [],
  );
  return rows.map((name) => name.slice(1, -1)).filter((name) => !listed.has(name) && !marked.includes(name));
}

function write() {
  for (const [page, name, text] of blocks()) {
    const file = path.join(ROOT, 'docs/reference', page);
    const [begin, end] = markers(name);
    const before = fs.readFileSync(file, 'utf8');
    if (blockOf(before, name) === null) throw new Error(`${page} has no markers of ${name}`);
    const from = before.indexOf(begin) + begin.length;
    fs.writeFileSync(file, `${before.slice(0, from)}\n\n${text}\n\n${before.slice(before.indexOf(end))}`);
  }
  const pages = [...new Set(blocks().map(([page]) => path.join('docs/reference', page)))];
  execFileSync(path.join(ROOT, 'node_modules/.bin/prettier'), ['--write', ...pages], { cwd: ROOT, stdio: 'ignore' });
}

if (process.argv[1] === import.meta.filename) write();
