import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError, type Say } from '../console.js';
import { type ProcessGroup, type ProcessSpec, type RunningProcess, tailOf } from './process-group.js';
import { stopProcess } from './process-record.js';

export type ProcessState = 'stopped' | 'starting' | 'ready' | 'crashed' | 'stopping';

/** The group that processes run in, and the receivers of notices. */
export interface Supervision {
  group: ProcessGroup;
  say: Say;
  onChange: () => void;
}

const RESTART_DELAYS_MS = [200, 1_000, 2_000, 5_000, 15_000];
/** A process that ran this long before it ended is restarted with the shortest delay again. */
const STABLE_AFTER_MS = 60_000;
/** Only a process that hangs reaches it: one that ends is noticed at once, and a start on a busy machine may take minutes. */
const READY_TIMEOUT_MS = 300_000;
const STOP_GRACE_MS = 25_000;

/** One process that is restarted with growing delays when it ends by itself. */
export class SupervisedProcess {
  state: ProcessState = 'stopped';
  private current: RunningProcess | null = null;
  private isRequested = false;
  private crashes = 0;

  /** @param describe  called at each start @param isReady  rejects or returns false while it is not ready; a FleetError ends the start */
  constructor(
    readonly name: string,
    private readonly supervision: Supervision,
    private readonly describe: () => Omit<ProcessSpec, 'name'> & { name?: string; logFile: string },
    private readonly isReady: () => Promise<unknown>,
  ) {}

  get pid(): number | null {
    return this.current?.record.pid ?? null;
  }

  /** Starts the process and waits until it is ready. @throws FleetError with the end of its log when it does not start */
  async start(): Promise<void> {
    this.isRequested = true;
    const { logFile, ...spec } = this.describe();
    const started = this.supervision.group.start({ name: this.name, ...spec, logFile });
    this.current = started;
    this.setState('starting');
    const startedAt = Date.now();
    void started.ended.then(() => {
      if (Date.now() - startedAt > STABLE_AFTER_MS) this.crashes = 0;
      if (this.isCurrent(started)) void this.restart(started);
    });
    const check = () =>
      this.isReady().catch((error: unknown) => {
        if (error instanceof FleetError) throw error;
      });
    while (!(await check())) {
      if (!this.isRequested) return;
      const isLate = Date.now() - startedAt > READY_TIMEOUT_MS;
      const problem = started.ending ?? (isLate ? `not ready after ${READY_TIMEOUT_MS / 1_000} s` : null);
      if (problem) throw new FleetError(`${this.name} did not start (${problem}). ${logFile}:\n${tailOf(logFile)}`);
      await sleep(50);
    }
    if (this.current === started && started.ending === null) this.setState('ready');
  }

  async stop(): Promise<void> {
    this.isRequested = false;
    if (this.state !== 'stopped') this.setState('stopping');
    if (this.current) await stopProcess(this.current.record, STOP_GRACE_MS);
    this.setState('stopped');
  }

  private isCurrent(process: RunningProcess): boolean {
    return this.isRequested && this.current === process && !this.supervision.group.isReleased;
  }

  /** Restarts it after a delay, unless it never was ready: `start` reports that. */
  private async restart(ended: RunningProcess): Promise<void> {
    const isFirstStart = this.state === 'starting' && this.crashes === 0;
    this.setState('crashed');
    if (isFirstStart) return;
    this.supervision.say(`${this.name} ended (${ended.ending}); restarting it`);
    await sleep(RESTART_DELAYS_MS[Math.min(this.crashes++, RESTART_DELAYS_MS.length - 1)]);
    if (this.isCurrent(ended)) await this.start().catch((error: Error) => this.supervision.say(error.message));
  }

  private setState(state: ProcessState): void {
    if (this.state === state) return;
    this.state = state;
    this.supervision.onChange();
  }
}
