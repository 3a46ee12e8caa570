import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { eventually, freePort } from '@rmm/testing-services';

const APP = resolve(__dirname, '..');
const TSC = resolve(APP, '../../node_modules/typescript/bin/tsc');

/** Compiles `dist`: production runs ES modules under Node, which Jest does not. */
export function buildService(): void {
  execFileSync(process.execPath, [TSC, '-b', 'tsconfig.app.json'], { cwd: APP, stdio: 'pipe' });
}

/** The compiled service in a separate process. */
export class ServiceProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Waits until the service is ready. @throws with the output of the process after 30 s */
  static async start(env: Record<string, string>): Promise<ServiceProcess> {
    const port = await freePort();
    const output: Buffer[] = [];
    const child = spawn(process.execPath, ['dist/main.js'], {
      cwd: APP,
      env: { PATH: process.env['PATH'], ...env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    await eventually(
      async () => {
        const ready = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
        if (ready?.status !== 200) throw new Error(`not ready:\n${Buffer.concat(output).toString()}`);
      },
      { timeoutMs: 90_000, everyMs: 100 },
    ).catch((error: unknown) => {
      child.kill('SIGKILL');
      throw error;
    });
    return new ServiceProcess(child, port);
  }

  /** @returns the exit code, null when the signal ended it */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    const exited = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill(signal);
    const [code] = await exited;
    return code;
  }
}
