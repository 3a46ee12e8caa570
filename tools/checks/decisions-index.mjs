// Writes the table of docs/decisions/README.md from the titles of the decisions: node tools/checks/decisions-index.mjs
import fs from 'node:fs';
import path from 'node:path';

const FOLDER = path.resolve(import.meta.dirname, '../../docs/decisions');
const INDEX = path.join(FOLDER, 'README.md');

const rows = fs
  .readdirSync(FOLDER)
  .filter((file) => /^\d{4}-.*\.md$/.test(file))
  .sort()
  .map((file) => {
    const [, number, title] = /^# (\d{4}): (.+)$/m.exec(fs.readFileSync(path.join(FOLDER, file), 'utf8')) ?? [];
    if (number !== file.slice(0, 4)) throw new Error(`${file} must begin with "# ${file.slice(0, 4)}: <title>"`);
    return { link: `[${number}](${file})`, title };
  });
const width = (column) => Math.max(...rows.map((row) => row[column].length), 'Decision'.length);
const line = (link, title) => `| ${link.padEnd(width('link'))} | ${title.padEnd(width('title'))} |`;
const rule = (column) => '-'.repeat(width(column));
const table = [
  line('Number', 'Decision'),
  line(rule('link'), rule('title')),
  ...rows.map((row) => line(row.link, row.title)),
];
const [head] = fs.readFileSync(INDEX, 'utf8').split(/^\|/m);
fs.writeFileSync(INDEX, `${head}${table.join('\n')}\n`);
