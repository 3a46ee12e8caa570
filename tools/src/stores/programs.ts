import fs from 'node:fs';
import path from 'node:path';
import { FleetError } from '../errors.js';
import { run } from '../processes/run.js';

/** A server program and the variables it needs. */
export interface Program {
  bin: string;
  env: Record<string, string>;
  from: string;
}

/** Returns the full path of a command on PATH or in `more` folders, or null. */
export function findOnPath(name: string, more: readonly string[] = []): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), ...more].filter(Boolean);
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file)) ?? null;
}

/** Compares versions such as `7.0.15` with `6.2`. */
export function isAtLeast(version: string, minimum: string): boolean {
  const [major = 0, minor = 0] = (/\d+\.\d+/.exec(version)?.[0] ?? '0').split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = minimum.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Returns the version a program prints. @throws when it does not run here */
export async function versionOf(bin: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await run(bin, ['--version'], { env, cwd: '/', timeout: 10_000 });
  return /\d+\.\d+(\.\d+)?/.exec(stdout)?.[0] ?? '';
}

/**
 * Returns the first program that is found and new enough.
 * @throws FleetError that lists each way, why it failed, and what the user can do
 */
export async function firstProgram(
  server: { title: string; minimum: string; variable: string; hint: string },
  ways: readonly (readonly [
    from: string,
    find: () => Promise<Omit<Program, 'from'> | null> | Omit<Program, 'from'> | null,
  ])[],
): Promise<Program> {
  const { title, minimum, variable, hint } = server;
  const tried: string[] = [];
  for (const [from, find] of ways) {
    try {
      const found = await find();
      const version = found && (await versionOf(found.bin, found.env));
      if (found && version && isAtLeast(version, minimum)) return { ...found, from };
      tried.push(`${from}: ${version ? `version ${version} is older than ${minimum}` : 'not found'}`);
    } catch (error) {
      tried.push(`${from}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  throw new FleetError(
    [
      `No ${title} server can be started here.`,
      ...tried.map((line) => `  tried ${line}`),
      `  Set ${variable} to a server of yours, or install one: ${hint}`,
    ].join('\n'),
  );
}
