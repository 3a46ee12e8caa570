import os from 'node:os';

/** Returns the middle value; of an even number the lower of the two. */
export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];

/** Creates a row of the report for a target; a missed one is shown. */
export const target = (name, value, op, wanted) => ({
  name,
  value: Number(value.toFixed(3)),
  target: wanted,
  op,
  ok: op === '>=' ? value >= wanted : value <= wanted,
});

/**
 * Prints one benchmark: a table, or one JSON document with `--json`.
 * @param {{ name: string, arms: object[], targets: object[], notes?: string[] }} result
 *   `arms` are rows of one shape; their keys are the columns
 */
export function report({ name, arms, targets, notes = [] }, args) {
  const machine = { cores: os.cpus().length, memoryGiB: Math.round(os.totalmem() / 2 ** 30), node: process.version };
  if (args.includes('--json')) {
    console.log(JSON.stringify({ name, machine, arms, targets, notes }));
    return;
  }
  console.log(`\n${name} · ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}\n`);
  printTable(arms);
  console.log('');
  printTable(
    targets.map((each) => ({
      target: each.name,
      measured: each.value,
      wanted: `${each.op} ${each.target}`,
      '': each.ok ? 'met' : 'MISSED',
    })),
  );
  for (const note of notes) console.log(`\n${note}`);
}

function printTable(rows) {
  const columns = Object.keys(rows[0] ?? {});
  const cells = [columns, ...rows.map((row) => columns.map((column) => show(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index].length)));
  for (const line of cells) {
    const padded = line.map((cell, index) => (index === 0 ? cell.padEnd(widths[index]) : cell.padStart(widths[index])));
    console.log(`  ${padded.join('   ')}`.trimEnd());
  }
}

const show = (value) =>
  typeof value === 'number' ? value.toLocaleString('en', { maximumFractionDigits: 2 }) : String(value ?? '');
