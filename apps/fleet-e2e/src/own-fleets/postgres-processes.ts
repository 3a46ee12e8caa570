import pg from 'pg';

/** The processes of a PostgreSQL server: signals to the first one do not reach those that serve connections. */
export class PostgresProcesses {
  private readonly pids: number[];

  private constructor(postmaster: number, children: readonly number[]) {
    this.pids = [postmaster, ...children];
  }

  /**
   * Suspends a server: the first process, so that it starts no others, then those it has started.
   * @param url  of the server @param postmaster  id of the first process
   */
  static async suspend(url: string, postmaster: number): Promise<PostgresProcesses> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined); // the connection ends with the server
    await client.connect();
    process.kill(postmaster, 'SIGSTOP');
    const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_activity');
    const processes = new PostgresProcesses(
      postmaster,
      rows.map(({ pid }) => pid),
    );
    processes.signal('SIGSTOP');
    void client.end().catch(() => undefined);
    return processes;
  }

  resume(): void {
    this.signal('SIGCONT');
  }

  /** Kills all processes. Does nothing the second time: other processes may have the ids then. */
  kill(): void {
    this.signal('SIGKILL');
    this.pids.length = 0;
  }

  private signal(signal: NodeJS.Signals): void {
    for (const pid of this.pids) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended in the meantime
      }
    }
  }
}
