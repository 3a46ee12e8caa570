/** A problem that is printed as one line, without a stack. */
export class FleetError extends Error {}

const colors = process.stdout.isTTY && !process.env['NO_COLOR'];
const paint = (code: number) => (text: string) => (colors ? `\x1b[${code}m${text}\x1b[0m` : text);

export const dim = paint(2);
export const bold = paint(1);
export const green = paint(32);
export const red = paint(31);

/** Puts `error: unknown option '--x'` and commander's suggestion on one line, for its `outputError`. */
export function writeOneLine(text: string, write: (line: string) => void): void {
  const message = text.replaceAll(/^error: |\.?\s*$/g, '').replaceAll('\n', ' ');
  write(`fleet: ${message}. See: ./fleet --help\n`);
}

export const secondsSinceStart = (): string => (performance.now() / 1_000).toFixed(1);

export type Say = (line: string) => void;

/** Prints one line of progress with the seconds since the start. */
export const say: Say = (line) => console.log(`${dim(`${secondsSinceStart().padStart(5)} s`)}  ${line}`);

/** Ignores an event; for errors that are reported elsewhere. */
export const ignore = (): undefined => undefined;
