// Reads the files that a webhook delivery passes from the table in the README of the dispatcher.
import fs from 'node:fs';
import path from 'node:path';

export const DISPATCHER = 'apps/webhook-dispatcher';
/** The file in which a delivery enters the service. */
export const ENTRY = `${DISPATCHER}/src/intake/event-intake.consumer.ts`;
const LIST = /<!-- files of a delivery -->\n([\s\S]*?)<!-- end -->/;

/**
 * Lists the files: a folder in the first column of the table, its files in the last.
 * @throws Error  when there is no such table, or it names a file that does not exist
 */
export function listDeliveryPath(root) {
  const [, table = ''] = LIST.exec(fs.readFileSync(path.join(root, DISPATCHER, 'README.md'), 'utf8')) ?? [];
  const listed = table.split('\n').flatMap(filesOfLine);
  const missing = listed.filter((file) => !fs.existsSync(path.join(root, file)));
  if (listed.length === 0 || missing.length > 0) {
    throw new Error(`README.md of the dispatcher lists ${missing.join(', ') || 'no files'}, which do not exist.`);
  }
  return listed;
}

function filesOfLine(line) {
  const cells = line.split('|').map((cell) => cell.trim());
  const [folder] = namesIn(cells[1]);
  if (!folder) return [];
  const base = folder.startsWith('libs/') ? folder : `${DISPATCHER}/src/${folder}`;
  return namesIn(cells.at(-2)).map((name) => path.posix.join(base, `${name}.ts`));
}

const namesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
