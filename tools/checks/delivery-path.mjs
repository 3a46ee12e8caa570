// Counts the files and lines that a webhook delivery passes from the stream to its stored outcome, and those of the
// dispatcher: node tools/checks/delivery-path.mjs. The files are listed in the README of the service, by folder.
import fs from 'node:fs';
import path from 'node:path';
import { DISPATCHER, listDeliveryPath } from './support/delivery-path.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');

const lineCount = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8').split('\n').length - 1;
const total = (files) => ({ files: files.length, lines: files.reduce((sum, file) => sum + lineCount(file), 0) });

function sourcesOf(folder) {
  const names = fs.readdirSync(path.join(ROOT, folder), { recursive: true });
  const isSource = (name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && !name.includes('migrations');
  return names.filter(isSource).map((name) => path.join(folder, name));
}

const listed = listDeliveryPath(ROOT);
const parts = {
  'a delivery, stream to stored outcome': listed,
  '  of these in the dispatcher': listed.filter((file) => file.startsWith(DISPATCHER)),
  'the dispatcher, without specs and migrations': sourcesOf(`${DISPATCHER}/src`),
  '  sending': sourcesOf(`${DISPATCHER}/src/sending`),
  '  intake': sourcesOf(`${DISPATCHER}/src/intake`),
};
for (const [name, files] of Object.entries(parts)) {
  const { files: count, lines } = total(files);
  console.log(`${String(count).padStart(4)} files ${String(lines).padStart(6)} lines  ${name}`);
}
