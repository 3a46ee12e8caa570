const started = performance.now();
const colors = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (code, text) => (colors ? `\x1b[${code}m${text}\x1b[0m` : text);

export const dim = (text) => paint('2', text);
export const bold = (text) => paint('1', text);
export const green = (text) => paint('32', text);
export const red = (text) => paint('31', text);

/** One line of progress, with the seconds since the start. */
export function say(line) {
  console.log(`${dim(`${((performance.now() - started) / 1000).toFixed(1).padStart(5)} s`)}  ${line}`);
}

/** Says that a step begins to take long, and how long it took at its end; quick steps stay silent. */
export async function step(name, work) {
  const from = performance.now();
  const patience = setTimeout(() => say(`${name} ...`), 1_000);
  try {
    const result = await work();
    const seconds = (performance.now() - from) / 1000;
    if (seconds >= 1) say(`${name} ${green('done')} ${dim(`(${seconds.toFixed(1)} s)`)}`);
    return result;
  } finally {
    clearTimeout(patience);
  }
}

export const secondsSinceStart = () => ((performance.now() - started) / 1000).toFixed(1);
