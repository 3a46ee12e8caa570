import { type ChildProcess, spawn } from 'node:child_process';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { diesWithParent } from './addresses.js';
import { eventually } from './eventually.js';

export interface LocalServerOptions {
  name: string;
  command: string;
  args: (port: number) => string[];
  env: Record<string, string>;
  /** Sent after connecting; nothing when the server speaks first. */
  greeting?: string;
  /** Matches the reply of a server that is ready. */
  ready: RegExp;
}

const READY_TIMEOUT_MS = 15_000;
const ATTEMPTS = 5;

/** A server process of one spec file on a port of its own, which it keeps over stop and start. */
export class LocalServer {
  private child?: ChildProcess;
  private output = '';
  private chosenPort?: number;

  constructor(private readonly options: LocalServerOptions) {}

  get port(): number {
    if (this.chosenPort === undefined) throw new Error(`${this.options.name} was never started`);
    return this.chosenPort;
  }

  /** Ready when it resolves. The first start chooses the port, the others take the same. */
  async start(): Promise<void> {
    if (this.chosenPort !== undefined) return this.startOn(this.chosenPort);
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      try {
        await this.startOn(port);
        this.chosenPort = port;
        return;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error; // another process may have taken the port meanwhile
      }
    }
  }

  /** Stops it like an operator: SIGTERM. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  /** Ends it like a crash: SIGKILL. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  private async startOn(port: number): Promise<void> {
    if (this.child !== undefined) throw new Error(`${this.options.name} is running already`);
    const [command, args] = diesWithParent(this.options.command, this.options.args(port));
    const child = spawn(command, args, {
      env: { ...process.env, ...this.options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    let failure: Error | undefined;
    child.once('error', (error) => (failure = error));
    child.once('exit', (code, signal) => (failure ??= new Error(`ended with ${code ?? signal}`)));
    try {
      await eventually(
        async () => {
          if (failure === undefined) await this.checkReady(port);
        },
        { timeoutMs: READY_TIMEOUT_MS },
      );
      if (failure !== undefined) throw failure;
    } catch (error) {
      await this.kill();
      throw new Error(`${this.options.name} did not start: ${String(error)}\n${this.output.slice(-2_000)}`, {
        cause: error,
      });
    }
  }

  private checkReady(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = createConnection({ host: '127.0.0.1', port, timeout: 1_000 });
      let reply = '';
      socket.on('connect', () => this.options.greeting && socket.write(this.options.greeting));
      socket.on('data', (chunk) => {
        reply += chunk.toString();
        if (!this.options.ready.test(reply)) return;
        resolve();
        socket.destroy();
      });
      socket.on('error', reject);
      socket.on('timeout', () => socket.destroy(new Error('no reply')));
      socket.on('close', () => reject(new Error(`replied ${JSON.stringify(reply)}`)));
    });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    this.child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }
}

/** Returns a free port of loopback. Another process may take it before the caller does. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
