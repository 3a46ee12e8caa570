import fs from 'node:fs';
import path from 'node:path';
import { bold, dim, FleetError, green, red } from '../console.js';
import { ROOT } from '../paths.js';
import { onSignal } from '../processes/run.js';
import { createTemporaryGroup } from '../stores/stores.js';
import {
  e2e,
  format,
  launcher,
  lint,
  type Part,
  type PartResult,
  type TestContext,
  types,
  unit,
} from '../test/parts.js';

/** The parts in the order they run: what fails fast comes first. */
const PARTS: Record<string, Part> = { format, types, lint, unit, launcher, e2e };

export const PART_NAMES = Object.keys(PARTS);

/** Runs the parts and projects by name, else everything. @returns 0 only when everything passed */
export async function test(names: readonly string[], jestArgs: readonly string[]): Promise<number> {
  const { parts, projects } = select(names);
  const context: TestContext = { ...createTemporaryGroup(), projects, jestArgs };
  const clean = () => context.group.release(60_000); // a fleet under test stops its own processes first
  onSignal(clean);
  const total = { passed: 0, failed: 0 };
  const summary: string[] = [];
  for (const name of parts) {
    console.log(`\n${bold(`── ${name}`)}`);
    const from = performance.now();
    const { passed, failed } = await runPart(name, context);
    total.passed += passed;
    total.failed += failed;
    const seconds = dim(`${((performance.now() - from) / 1_000).toFixed(1)} s`.padStart(8));
    const counts = `${passed} passed${failed ? `, ${red(`${failed} failed`)}` : ''}`;
    summary.push(`  ${failed ? red('✗') : green('✓')} ${name.padEnd(10)} ${seconds}  ${counts}`);
  }
  await clean();
  console.log(`\n${bold('── summary')}\n${summary.join('\n')}\n\n${total.passed} passed, ${total.failed} failed`);
  return total.failed ? 1 : 0;
}

function select(names: readonly string[]): { parts: string[]; projects: string[] } {
  const known = ['apps', 'libs'].flatMap((kind) => fs.readdirSync(path.join(ROOT, kind)));
  const unknown = names.find((name) => !PARTS[name] && !known.includes(name));
  if (unknown) {
    const choice = `Parts: ${PART_NAMES.join(', ')}, or the name of an app or lib.`;
    throw new FleetError(`There is no part "${unknown}". ${choice}`);
  }
  const projects = names.filter((name) => !PARTS[name] && name !== 'fleet-e2e');
  const selected = new Set([...names, ...(projects.length ? ['unit'] : []), names.includes('fleet-e2e') ? 'e2e' : '']);
  return { parts: PART_NAMES.filter((part) => names.length === 0 || selected.has(part)), projects };
}

async function runPart(name: string, context: TestContext): Promise<PartResult> {
  try {
    return (await PARTS[name]?.(context)) ?? { passed: 0, failed: 1 };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return { passed: 0, failed: 1 };
  }
}
