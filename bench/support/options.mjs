import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    arms: { type: 'string', default: '' },
    size: { type: 'string' },
  },
});

/** True when a rough figure after a few seconds is enough: `./fleet bench <name> --quick`. */
export const isQuick = values.quick;

/** True when there is time for exact figures: `--long`. */
export const isLong = values.long;

/** True when what was read shall be compared with the tables: `--check`. */
export const isChecked = values.check;

/** Returns the number of rows to measure with: that of `--size`, or the given one. */
export const sizeOr = (usual) => (values.size === undefined ? usual : Number(values.size));

/** Returns whether an arm or a case is selected: all are, unless `--arms` lists parts of their names. */
export const isSelected = (name) => values.arms.split(',').some((part) => name.includes(part.trim()));
