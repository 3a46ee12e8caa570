// Counts the files and lines that a webhook delivery passes from the stream to its stored outcome, and those of the
// dispatcher: node tools/checks/delivery-path.mjs. The files are listed in the README of the service, by folder.
import fs from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');
const APP = 'apps/webhook-dispatcher';
const LIST = /<!-- files of a delivery -->\n([\s\S]*?)<!-- end -->/;

const lineCount = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8').split('\n').length - 1;
const total = (files) => ({ files: files.length, lines: files.reduce((sum, file) => sum + lineCount(file), 0) });

/** Reads the table of the README: a folder in the first column, its files in the last. */
function listedFiles() {
  const [, table = ''] = LIST.exec(fs.readFileSync(path.join(ROOT, APP, 'README.md'), 'utf8')) ?? [];
  return table.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    const [folder] = [...(cells[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    if (!folder) return [];
    const base = folder.startsWith('libs/') ? folder : `${APP}/src/${folder}`;
    return [...(cells.at(-2) ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => path.join(base, `${name}.ts`));
  });
}

function sourcesOf(folder) {
  const names = fs.readdirSync(path.join(ROOT, folder), { recursive: true });
  const isSource = (name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && !name.includes('migrations');
  return names.filter(isSource).map((name) => path.join(folder, name));
}

const listed = listedFiles();
const missing = listed.filter((file) => !fs.existsSync(path.join(ROOT, file)));
if (listed.length === 0 || missing.length > 0) {
  console.error(`README.md of the dispatcher lists ${missing.join(', ') || 'no files'}, which do not exist.`);
  process.exit(1);
}
const parts = {
  'a delivery, stream to stored outcome': listed,
  '  of these in the dispatcher': listed.filter((file) => file.startsWith(APP)),
  'the dispatcher, without specs and migrations': sourcesOf(`${APP}/src`),
  '  sending': sourcesOf(`${APP}/src/sending`),
  '  intake': sourcesOf(`${APP}/src/intake`),
};
for (const [name, files] of Object.entries(parts)) {
  const { files: count, lines } = total(files);
  console.log(`${String(count).padStart(4)} files ${String(lines).padStart(6)} lines  ${name}`);
}
