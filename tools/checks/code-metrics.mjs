// Measures the shape of the sources: node tools/checks/code-metrics.mjs [folder] [--since <revision>]
// Prints a Markdown table. Source means apps/*/src and libs/*/src without specs, migrations, test folders and declarations.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { DISPATCHER, ENTRY, listDeliveryPath } from './support/delivery-path.mjs';

const args = process.argv.slice(2);
const since = args.includes('--since') ? args.splice(args.indexOf('--since'), 2)[1] : null;
const root = path.resolve(args[0] ?? path.join(import.meta.dirname, '../..'));

/** File names that say the role of the file: `api-keys.service.ts`, `config.ts`, `index.ts`. */
const ROLES = new Set(
  (
    'module controller rpc consumer service repository entity mapper errors error guard interceptor filter pipe decorator ' +
    'job policy config dto strategy middleware authenticator publisher metrics health lifecycle limits contract contracts ' +
    'events event types type constants factory client adapter transport processor transformer options tokens schema'
  ).split(' '),
);
/** Names that have the same meaning in each project. */
const WHOLE_NAMES = new Set(
  'config.ts main.ts index.ts limits.ts errors.ts entities.ts migrate.ts service-options.ts'.split(' '),
);

/** Files that "create an API key" passes: the controller, and those of its imports that match a pattern. */
const CREATE_API_KEY = {
  app: 'apps/credentials/src',
  entry: ['api-keys/api-keys.controller.ts'],
  follow: [
    /api-keys\/dto\/create-api-key/,
    /api-keys\/dto\/api-key\.dto/,
    /api-keys\/api-keys?\.(service|repository|entity|mapper)/,
    /api-keys\/api-key-changes/,
    /\/scope-checks/,
    /\/scope-grant/,
    /\/api-key-grants|\/grant-checks|delegation|ceiling\.policy/,
  ],
};

/** Fields whose declarations are counted: places in sources that have to change for a field like it. */
const SAMPLE_FIELDS = [
  { name: 'expiryReminders', column: 'expiry_reminders', app: 'apps/credentials/src' },
  { name: 'standardWebhooks', column: 'standard_webhooks', app: 'apps/webhook-dispatcher/src' },
  { name: 'description', column: 'description', app: 'apps/credentials/src/api-keys' },
  { name: 'description', column: 'description', app: 'apps/webhook-dispatcher/src/webhooks' },
];
/** `description: 'text'` documents an operation; it is not the field. */
const DOCUMENTATION = /\bdescription:\s*(['"`]|$)/;

const slashed = (file) => path.relative(root, file).split(path.sep).join('/');

function* filesBelow(dir) {
  if (!fs.existsSync(dir)) return;
  for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
    if (['node_modules', 'dist', 'out-tsc', 'coverage', '.data', '.nx', '.git'].includes(entry.name)) continue;
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) yield* filesBelow(file);
    else yield file;
  }
}

const isSpec = (file) => /\.(spec|test|e2e-spec|type-spec)\.m?[tj]s$|-spec\.ts$/.test(file);
const isSource = (file) =>
  /\.m?ts$/.test(file) && !file.endsWith('.d.ts') && !isSpec(file) && !/\/(test|migrations)\//.test(slashed(file));

const lineCount = (text) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
const quantile = (numbers, q) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] : 0;
};
const spread = (numbers) => [quantile(numbers, 0.5), quantile(numbers, 0.9), Math.max(0, ...numbers)].join(' / ');

const decoratorNames = (node) =>
  (ts.canHaveDecorators(node) ? (ts.getDecorators(node) ?? []) : []).map(({ expression }) =>
    (ts.isCallExpression(expression) ? expression.expression : expression).getText(),
  );

const importsTypesOnly = ({ importClause }) =>
  importClause !== undefined &&
  (importClause.isTypeOnly ||
    (importClause.name === undefined &&
      importClause.namedBindings !== undefined &&
      ts.isNamedImports(importClause.namedBindings) &&
      importClause.namedBindings.elements.every((element) => element.isTypeOnly)));

/** Reads one file: its named functions, classes, constructor dependencies and imports. */
function measure(file) {
  const text = fs.readFileSync(file, 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = {
    file: slashed(file),
    lines: lineCount(text),
    functions: [],
    injectables: 0,
    classes: 0,
    dependencies: [],
    imports: [],
    /** Imports of more than types. */
    runtimeImports: [],
  };
  const linesOf = (node) =>
    source.getLineAndCharacterOfPosition(node.getEnd()).line -
    source.getLineAndCharacterOfPosition(node.getStart()).line +
    1;
  const isNamed = (node) =>
    ((ts.isFunctionDeclaration(node) ||
      ts.isMethodDeclaration(node) ||
      ts.isConstructorDeclaration(node) ||
      ts.isAccessor(node)) &&
      node.body) ||
    ((ts.isArrowFunction(node) || ts.isFunctionExpression(node)) &&
      ts.isVariableDeclaration(node.parent) &&
      ts.isSourceFile(node.parent.parent.parent.parent));
  const read = (node) => {
    if (isNamed(node)) found.functions.push(linesOf(node));
    if (ts.isClassLike(node)) {
      found.classes += 1;
      const decorators = decoratorNames(node);
      const isProvider = ['Injectable', 'Controller', 'Catch'].some((name) => decorators.includes(name));
      if (isProvider) found.injectables += 1;
      const constructor = node.members.find(ts.isConstructorDeclaration);
      if (constructor && isProvider) found.dependencies.push(constructor.parameters.length);
    }
    if (ts.isImportDeclaration(node) && node.moduleSpecifier.text.startsWith('.')) {
      found.imports.push(node.moduleSpecifier.text);
      if (!importsTypesOnly(node)) found.runtimeImports.push(node.moduleSpecifier.text);
    }
    ts.forEachChild(node, read);
  };
  read(source);
  return found;
}

const sources = ['apps', 'libs']
  .flatMap((group) => [...filesBelow(path.join(root, group))].filter(isSource))
  .map(measure);
const apps = [...new Set(sources.map(({ file }) => /^apps\/([^/]+)\//.exec(file)?.[1]).filter(Boolean))]
  .filter((name) => name !== 'fleet-e2e')
  .sort();
const product = sources.filter(({ file }) => !/^apps\/fleet-e2e\/|^libs\/testing/.test(file));
const within = (prefix) => product.filter(({ file }) => file.startsWith(prefix));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const hasRole = ({ file }) => {
  const name = path.posix.basename(file);
  return WHOLE_NAMES.has(name) || ROLES.has(/\.([a-z-]+)\.ts$/.exec(name)?.[1]);
};
/**
 * A role says what a class is to Nest or TypeORM. A file of pure functions, types or constants has none and is named for
 * its noun (`retry-delay.ts`, docs/style.md), so the share is also shown among files that declare a class.
 */
const declaresClass = ({ classes }) => classes > 0;
const percent = (part, whole) => (whole.length ? `${Math.round((100 * part.length) / whole.length)} %` : '-');

const byName = new Map(product.map((one) => [one.file, one]));

/** Follows relative imports from some files. @returns the lines of each file that is imported, by name */
function importedFrom(entries, importsOf, isFollowed = () => true) {
  const seen = new Map();
  const follow = (name) => {
    const one = byName.get(name);
    if (!one || seen.has(name)) return;
    seen.set(name, one.lines);
    for (const specifier of importsOf(one)) {
      const target = path.posix.join(path.posix.dirname(name), specifier.replace(/\.js$/, '.ts'));
      if (isFollowed(target)) follow(target);
    }
  };
  entries.forEach(follow);
  return seen;
}

const createApiKeyPath = () =>
  importedFrom(
    CREATE_API_KEY.entry.map((name) => `${CREATE_API_KEY.app}/${name}`),
    (one) => one.imports,
    (target) => CREATE_API_KEY.follow.some((pattern) => pattern.test(target)),
  );

/**
 * Measures the path of a delivery from the event in the stream to the stored outcome: the files that the README of the
 * dispatcher lists, of which its consumer must import each one of the service, and all that it imports there.
 */
function deliveryPath() {
  const imported = importedFrom([ENTRY], (one) => one.runtimeImports);
  const listed = listDeliveryPath(root);
  const own = listed.filter((file) => file.startsWith(`${DISPATCHER}/`));
  const unused = own.filter((file) => !imported.has(file));
  if (unused.length > 0) throw new Error(`${ENTRY} does not import ${unused.join(', ')}.`);
  const size = (files) => ({ files: files.length, lines: sum(files.map((file) => byName.get(file).lines)) });
  return {
    listed: new Map(listed.map((file) => [file, byName.get(file).lines])),
    own: size(own),
    imported: size([...imported.keys()]),
  };
}

/** Counts lines that name a field or its column, migrations included, specs left out. */
function fieldEdits({ name, column, app }) {
  const pattern = new RegExp(`\\b(${name}|${column})\\b`);
  const hits = [
    ...filesBelow(path.join(root, app)),
    ...filesBelow(path.join(root, app.split('/src')[0], 'src/migrations')),
  ]
    .filter((file, i, all) => all.indexOf(file) === i && file.endsWith('.ts') && !isSpec(file))
    .map(
      (file) =>
        fs
          .readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => pattern.test(line) && !DOCUMENTATION.test(line) && !/^\s*(\*|\/\/|\/\*)/.test(line)).length,
    )
    .filter(Boolean);
  return { files: hits.length, lines: sum(hits) };
}

const EXTENSIONS = /\.(ts|mts|mjs|js|json|txt|sh)$/;
const linesBelow = (dir, keep = (file) => /\.(ts|mts|mjs|js)$/.test(file) && !isSpec(file)) => {
  const files = [...filesBelow(path.join(root, dir))].filter(keep);
  return { files: files.length, lines: sum(files.map((file) => lineCount(fs.readFileSync(file, 'utf8')))) };
};
const toolLines = (keep) => shown(linesBelow('tools', (file) => isCode(file) && keep(slashed(file))));
const shown = ({ files, lines }) => `${lines} in ${files} files`;

function commitSubjects() {
  try {
    const range = since ? `${since}..HEAD` : 'HEAD';
    const text = execFileSync('git', ['log', '--no-merges', '--format=%s', range], { cwd: root }).toString().trim();
    const lengths = text ? text.split('\n').map((subject) => subject.length) : [];
    const long = lengths.filter((length) => length > 72).length;
    return `${spread(lengths)}; ${long} of ${lengths.length} over 72${since ? '' : ' (all commits)'}`;
  } catch {
    return 'no git repository';
  }
}

const dependencies = product.flatMap((one) => one.dependencies);
const apiKey = createApiKeyPath();
const delivery = deliveryPath();
const sizeOf = (files) => shown({ files: files.length, lines: sum(files.map((one) => one.lines)) });
/** Returns whether `./fleet` runs a file to start, stop or test a fleet; the doctor and the scripts of API documents are apart. */
const isLauncher = (file) => /^tools\/(fleet\.mjs|src\/)/.test(file) && !isDoctor(file);
const isDoctor = (file) => /^tools\/src\/(doctor\/|commands\/doctor)/.test(file);
const isCode = (file) => /\.(ts|mts|mjs|js)$/.test(file) && !isSpec(file);
const rows = [
  ['Files, lines (apps and libs)', shown({ files: product.length, lines: sum(product.map((one) => one.lines)) })],
  ['Function lines, median / p90 / max', spread(product.flatMap((one) => one.functions))],
  ['File lines, median / p90 / max', spread(product.map((one) => one.lines))],
  ...apps.map((app) => {
    const files = within(`apps/${app}/`);
    const providers = sum(files.map((one) => one.injectables));
    const lines = sum(files.map((one) => one.lines));
    return [`Injectables of ${app}; lines per injectable`, `${providers}; ${Math.round(lines / (providers || 1))}`];
  }),
  [
    'Lines per injectable, apps',
    Math.round(
      sum(within('apps/').map((one) => one.lines)) / (sum(within('apps/').map((one) => one.injectables)) || 1),
    ),
  ],
  ['Constructor dependencies, median / p90 / max', spread(dependencies)],
  ['Constructors with more than 8 dependencies', dependencies.filter((count) => count > 8).length],
  ...[
    ['apps', within('apps/')],
    ['apps and libs', product],
  ].flatMap(([where, files]) => {
    const classes = files.filter(declaresClass);
    return [
      [`Files with a role suffix, ${where}`, percent(files.filter(hasRole), files)],
      [`Files with a role suffix, ${where}, of those with a class`, percent(classes.filter(hasRole), classes)],
    ];
  }),
  ['Path "create an API key"', shown({ files: apiKey.size, lines: sum([...apiKey.values()]) })],
  [
    'Path of a delivery, event to stored outcome',
    shown({ files: delivery.listed.size, lines: sum([...delivery.listed.values()]) }),
  ],
  ['Path of a delivery, its part in the dispatcher', shown(delivery.own)],
  ['All that the consumer of events imports in the dispatcher', shown(delivery.imported)],
  [`\`${DISPATCHER}/src\``, sizeOf(within(`${DISPATCHER}/src/`))],
  [`\`${DISPATCHER}/src/sending\``, sizeOf(within(`${DISPATCHER}/src/sending/`))],
  ...SAMPLE_FIELDS.map((field) => {
    const { files, lines } = fieldEdits(field);
    return [`Lines that name \`${field.name}\` in ${field.app}`, lines ? `${lines} in ${files} files` : 'not there'];
  }),
  ['`service-kit` source', sizeOf(within('libs/service-kit/'))],
  ['Launcher (`tools/fleet.mjs` and `tools/src` without the doctor)', toolLines(isLauncher)],
  ['`./fleet doctor`', toolLines(isDoctor)],
  ['`tools` without specs', shown(linesBelow('tools'))],
  ['Benchmarks', shown(linesBelow(fs.existsSync(path.join(root, 'bench')) ? 'bench' : 'tools/bench'))],
  ['`third_party`', shown(linesBelow('third_party', (file) => EXTENSIONS.test(file)))],
  ['Commit subjects, characters, median / p90 / max', commitSubjects()],
];

console.log('| Measure | Value |\n| --- | --- |');
rows.forEach(([name, value]) => console.log(`| ${name} | ${value} |`));
if (process.argv.includes('--paths')) {
  for (const [file, lines] of [...apiKey, ...delivery.listed]) console.log(`${lines} ${file}`);
}
