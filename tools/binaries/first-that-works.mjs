import { Failure } from '../failure.mjs';

/**
 * Tries ways to get a server binary, in order.
 * @param {{ what: string, variable: string, hint: string }} server
 * @param {[string, () => Promise<object | null>][]} ways
 * @returns the first answer, with `from` naming the way
 * @throws {Failure} that lists every way and why it failed, and the ways out
 */
export async function firstThatWorks({ what, variable, hint }, ways) {
  const tried = [];
  for (const [name, way] of ways) {
    try {
      const found = await way();
      if (found) return { ...found, from: name };
      tried.push(`${name}: not found`);
    } catch (error) {
      tried.push(`${name}: ${error.message}`);
    }
  }
  throw new Failure(
    [
      `No ${what} server can be started here.`,
      ...tried.map((line, i) => `${i ? '        ' : '  tried:'} ${line}`),
      `  ways out: set ${variable} to a server of yours,`,
      '            or run "docker compose up -d postgres valkey nats",',
      `            or install it: ${hint}`,
    ].join('\n'),
  );
}
