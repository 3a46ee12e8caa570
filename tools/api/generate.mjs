// Writes what is generated from the API: `node tools/api/generate.mjs` the types of packages/sdk, with `--release` also
// docs/api, which is the last released API, and what changed in docs/api/CHANGELOG.md. It compiles the services first and needs no running fleet.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { changesBetween, digestOf, surfaceOf, withChanges } from './changelog.mjs';
import { postmanCollection } from './postman.mjs';
import { generateTypes, TYPE_FILES } from './sdk-types.mjs';
import { buildAsyncApi, buildOpenApi } from './service-documents.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');
const CHANGELOG = 'docs/api/CHANGELOG.md';
const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const write = (file, text) => fs.writeFileSync(path.join(ROOT, file), text);
const toJson = (document) => `${JSON.stringify(document, null, 2)}\n`;

execFileSync(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-b', 'tsconfig.build.json'], {
  cwd: ROOT,
  stdio: 'inherit',
});
const [openApi, asyncApi] = [await buildOpenApi(), await buildAsyncApi()];
const types = await generateTypes(openApi, asyncApi);
for (const [name, file] of Object.entries(TYPE_FILES)) write(file, types[name]);
if (process.argv.includes('--release')) {
  const released = ['openapi', 'asyncapi'].map((name) => JSON.parse(read(`docs/api/${name}.json`)));
  const surface = surfaceOf(openApi, asyncApi);
  const changes = changesBetween(surfaceOf(...released), surface);
  const day = new Date().toISOString().slice(0, 10);
  write(CHANGELOG, withChanges(read(CHANGELOG), { day, changes, digest: digestOf(surface) }));
  write('docs/api/openapi.json', toJson(openApi));
  write('docs/api/asyncapi.json', toJson(asyncApi));
  write('docs/api/postman.json', toJson(postmanCollection(openApi)));
}
process.exit(0); // modules of the services leave timers behind
