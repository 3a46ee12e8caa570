import { abortCommands } from '../processes/run.js';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Runs `clean` once when a signal arrives, and then ends this process with the exit code of the signal. */
export function onSignal(clean: () => Promise<void>): void {
  let ending: Promise<unknown> | null = null;
  const end = (code: number) => {
    ending ??= Promise.all([abortCommands(), clean()])
      .catch((error: unknown) => console.error(error))
      .finally(() => process.exit(code));
  };
  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => end(code));
  // npm and a test run that are killed cannot pass a signal on.
  if (!process.env['npm_lifecycle_event'] && !process.env['FLEET_ENDS_WITH_PARENT']) return;
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && end(SIGNALS.SIGTERM), 500).unref();
}
