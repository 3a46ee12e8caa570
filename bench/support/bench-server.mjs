import autocannon from 'autocannon';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { NODE_FLAGS } from '../../tools/dist/fleet/services.js';

const SERVERS = path.resolve(import.meta.dirname, '../servers');

/**
 * A server of a benchmark in a process of its own, with the flags of a service in a fleet. The script sends `{ port }` when
 * it listens, and replies to the message `cpu` with the microseconds of CPU it has used; `announce` does both.
 */
export class BenchServer {
  constructor(script, { args = [], env = {}, nodeFlags = process.execArgv } = {}) {
    this.child = fork(path.join(SERVERS, script), args, {
      execArgv: [...NODE_FLAGS, ...nodeFlags, ...profileFlags()],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  async ready() {
    const [message] = await Promise.race([once(this.child, 'message'), this.death()]);
    return Object.assign(this, message);
  }

  async cpuMicros() {
    return (await this.ask('cpu')).cpu;
  }

  /** Asks the process a question by its name. @returns its reply */
  ask(question) {
    return this.send(question);
  }

  /** Sends a message of any kind. @returns the response */
  async send(something) {
    this.child.send(something);
    const [message] = await once(this.child, 'message');
    return message;
  }

  async stop() {
    if (this.child.exitCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    setTimeout(() => this.child.kill('SIGKILL'), 5_000).unref();
    await gone;
  }

  async death() {
    const [code] = await once(this.child, 'exit');
    throw new Error(`a server of the benchmark ended with ${code}`);
  }
}

/**
 * Reports the port of a server process and replies to questions of the benchmark.
 * @param responses  further questions by name, each with a function that creates the reply
 */
export function announce(port, more = {}, responses = {}) {
  process.on('message', (question) => {
    if (question === 'cpu') {
      const { user, system } = process.cpuUsage();
      process.send({ cpu: user + system });
    } else if (responses[question]) process.send(responses[question]());
  });
  process.on('disconnect', () => process.exit(0)); // the benchmark was killed
  process.send({ port, ...more });
}

/**
 * Measures one window of load from this process.
 * @returns requests per second, CPU per request in µs, p99 in ms
 */
export async function measure(server, { path: url, headers = {}, seconds = 2, connections = 50 }) {
  const before = await server.cpuMicros();
  const result = await autocannon({
    url: `http://127.0.0.1:${server.port}${url}`,
    connections,
    duration: seconds,
    headers,
  });
  const cpu = (await server.cpuMicros()) - before;
  if (result.non2xx || result.errors) throw new Error(`${url}: ${result.non2xx} refusals, ${result.errors} errors`);
  return {
    perSecond: result.requests.total / result.duration,
    cpuMicros: cpu / result.requests.total,
    p99Ms: result.latency.p99,
  };
}

/** Returns the flags by which a server writes a CPU profile into the folder that CPU_PROFILE_DIR names. */
function profileFlags() {
  const { CPU_PROFILE_DIR: dir } = process.env;
  return dir ? ['--cpu-prof', `--cpu-prof-dir=${path.resolve(dir)}`] : [];
}
