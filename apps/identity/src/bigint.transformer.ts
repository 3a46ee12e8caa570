/** Reads a bigint column, which pg returns as text, as a number. For versions and counts, far below 2^53. */
export const bigintAsNumber = { from: Number, to: (value: number): number => value };
