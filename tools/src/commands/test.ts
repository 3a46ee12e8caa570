import fs from 'node:fs';
import path from 'node:path';
import { bold, dim, green, red } from '../console.js';
import { FleetError } from '../errors.js';
import { onSignal } from '../fleet/shutdown.js';
import { ROOT } from '../paths.js';
import { ProcessGroup } from '../processes/process-group.js';
import { createTemporaryDir } from '../stores/throwaway.js';
import { e2e } from '../test/e2e.js';
import { format, launcher, lint, type Part, type PartResult, type TestContext, types, unit } from '../test/parts.js';

/** The parts in the order they run: what fails fast comes first. */
const PARTS: Record<string, Part> = { format, types, lint, unit, launcher, e2e };

export const PART_NAMES = Object.keys(PARTS);

/** Runs the parts and projects by name, else everything. @returns 0 only when everything passed */
export async function test(names: readonly string[], jestArgs: readonly string[]): Promise<number> {
  const { parts, projects } = select(names);
  const dir = createTemporaryDir('test');
  const group = new ProcessGroup(dir);
  const context: TestContext = { dir, group, projects, jestArgs, cleanups: [] };
  const clean = async () => {
    await group.release(60_000); // a fleet under test stops its own processes first
    for (const cleanup of context.cleanups) await cleanup();
    fs.rmSync(dir, { recursive: true, force: true });
  };
  onSignal(clean);
  const total = { ok: true, passed: 0, failed: 0 };
  const summary: string[] = [];
  for (const name of parts) {
    console.log(`\n${bold(`── ${name}`)}`);
    const from = performance.now();
    const { ok, passed, failed } = await runPart(name, context);
    total.ok &&= ok;
    total.passed += passed;
    total.failed += failed;
    const seconds = dim(`${((performance.now() - from) / 1_000).toFixed(1)} s`.padStart(8));
    const counts = `${passed} passed${failed ? `, ${red(`${failed} failed`)}` : ''}`;
    summary.push(`  ${ok ? green('✓') : red('✗')} ${name.padEnd(10)} ${seconds}  ${counts}`);
  }
  await clean();
  console.log(`\n${bold('── summary')}\n${summary.join('\n')}\n\n${total.passed} passed, ${total.failed} failed`);
  return total.ok ? 0 : 1;
}

function select(names: readonly string[]): { parts: string[]; projects: string[] } {
  const known = ['apps', 'libs'].flatMap((kind) => fs.readdirSync(path.join(ROOT, kind)));
  const unknown = names.find((name) => !PARTS[name] && !known.includes(name));
  if (unknown) {
    throw new FleetError(
      `There is no part "${unknown}". Parts: ${PART_NAMES.join(', ')}, or the name of an app or lib.`,
    );
  }
  const projects = names.filter((name) => !PARTS[name] && name !== 'fleet-e2e');
  const selected = new Set([...names, ...(projects.length ? ['unit'] : []), names.includes('fleet-e2e') ? 'e2e' : '']);
  return { parts: PART_NAMES.filter((part) => names.length === 0 || selected.has(part)), projects };
}

async function runPart(name: string, context: TestContext): Promise<PartResult> {
  const failure: PartResult = { ok: false, passed: 0, failed: 1 };
  try {
    return (await PARTS[name]?.(context)) ?? failure;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return failure;
  }
}
