import path from 'node:path';

/** The last part of a file name before `.ts`, for each decorator that makes a class something to Nest or TypeORM. */
const SUFFIXES = {
  Module: ['module'],
  Controller: ['controller', 'rpc', 'consumer'],
  Entity: ['entity'],
  Catch: ['filter'],
  Injectable: [
    'service',
    'repository',
    'job',
    'consumer',
    'rpc',
    'guard',
    'interceptor',
    'filter',
    'pipe',
    'policy',
    'mapper',
    'config',
    'authenticator',
    'strategy',
    'publisher',
    'metrics',
    'health',
    'lifecycle',
    'transport',
    'middleware',
  ],
};

/** `TenantDatabase` of a lib may be in `tenant-database.ts`: what a lib exports is found by its name. */
const kebab = (name = '') => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
const isLib = (file) => file.split(path.sep).includes('libs');

const nameOf = ({ expression }) => (expression.type === 'CallExpression' ? expression.callee : expression).name;

/** Requires that the file of a provider, controller, module or entity says which of them it holds. */
export const roleSuffix = {
  meta: {
    type: 'suggestion',
    docs: { description: 'require a role suffix in the name of a file with a Nest or TypeORM class' },
    schema: [],
    messages: {
      missing: 'A class with @{{ decorator }} lives in a file that ends in one of: {{ suffixes }}.',
    },
  },
  create(context) {
    const [, suffix] = /\.([a-z-]+)\.ts$/.exec(path.basename(context.filename)) ?? [];
    const plain = path.basename(context.filename, '.ts'); // `config.ts`
    const check = (node) => {
      for (const decorator of node.decorators ?? []) {
        const name = nameOf(decorator);
        const allowed = Object.hasOwn(SUFFIXES, name) ? SUFFIXES[name] : null;
        if (!allowed || allowed.includes(suffix ?? plain)) continue;
        if (isLib(context.filename) && plain === kebab(node.id?.name)) continue;
        context.report({
          node: node.id ?? node,
          messageId: 'missing',
          data: { decorator: name, suffixes: allowed.map((one) => `.${one}.ts`).join(', ') },
        });
      }
    };
    return { ClassDeclaration: check, ClassExpression: check };
  },
};
