import { Failure } from '../failure.mjs';
import { startDetached } from '../fleet/detached.mjs';
import { Launcher } from '../fleet/launcher.mjs';
import { say, secondsSinceStart, step } from '../fleet/reporter.mjs';
import { serviceNames } from '../fleet/services.mjs';
import { runningState } from '../fleet/state.mjs';
import { summaryText } from '../fleet/summary.mjs';
import { startOf } from '../processes/identity.mjs';
import { endRunningAndWait } from '../processes/run.mjs';
import { readOptions } from './options.mjs';

/** `fleet up [--detach] [--local-receivers] [--replicas service=N]` */
export default async function up(args) {
  const { values } = readOptions(args, {
    detach: { type: 'boolean', short: 'd', default: false },
    'local-receivers': { type: 'boolean', default: false },
    replicas: { type: 'string', multiple: true, default: [] },
  });
  const replicas = Object.fromEntries(values.replicas.flatMap((text) => text.split(',')).map(readReplicas));
  const running = runningState();
  if (running) return sayAlreadyRunning(running, values);
  if (values.detach) return startDetached(args.filter((arg) => arg !== '--detach' && arg !== '-d'));

  const launcher = new Launcher({ say, step, replicas, localReceivers: values['local-receivers'] });
  const stopped = stopOnSignal(launcher);
  try {
    const summary = await launcher.start();
    console.log(summaryText(summary, secondsSinceStart()));
  } catch (error) {
    const asked = launcher.isClosing;
    await launcher.close();
    if (!asked) throw error; // what fails because it is being stopped is no news
  }
  return stopped;
}

/** A second `up` changes nothing, so it is only content when what runs is what was asked for. */
function sayAlreadyRunning({ launcher, phase, summary, services }, wanted) {
  const found = `The fleet is already running (pid ${launcher.pid})`;
  if (phase !== 'ready') throw new Failure(`${found}, and is still starting. See: fleet status`);
  const missing = [
    ...(wanted['local-receivers'] && !summary.localReceivers ? ['--local-receivers'] : []),
    ...wanted.replicas.filter((text) => !hasReplicas(services, text)).map((text) => `--replicas ${text}`),
  ];
  if (missing.length) throw new Failure(`${found}, but without ${missing.join(' ')}. End it first with: fleet down`);
  console.log(`${found}. See "fleet status", or end it with "fleet down".\n${summaryText(summary)}`);
  return 0;
}

const hasReplicas = (services, text) =>
  text
    .split(',')
    .map(readReplicas)
    .every(([service, count]) => services.find(({ name }) => name === service)?.instances.length === count);

function readReplicas(text) {
  const [, service, count] = /^([a-z-]+)=([1-9]\d?)$/.exec(text) ?? [];
  if (!serviceNames.includes(service)) {
    throw new Failure(
      `--replicas wants <service>=<number from 1>, got "${text}". Services: ${serviceNames.join(', ')}`,
    );
  }
  return [service, Number(count)];
}

/** Resolves with the exit code once a signal came and everything has stopped. */
function stopOnSignal(launcher) {
  return new Promise((resolve) => {
    const end = async (signal, code) => {
      say('stopping');
      await endRunningAndWait();
      await launcher.close().catch((error) => console.error(error));
      resolve(code);
      process.exit(code); // a start that was under way when the signal came holds handles of its own
    };
    const once = (signal, code) => process.once(signal, () => void end(signal, code));
    once('SIGINT', 0);
    once('SIGTERM', 0);
    once('SIGHUP', 0);
    if (process.env.npm_lifecycle_event || process.env.FLEET_ENDS_WITH_PARENT)
      whenParentDies(() => void end('SIGTERM', 143));
  });
}

/** npm, or a test run, that is killed hard cannot pass a signal on. */
function whenParentDies(act) {
  const parent = { pid: process.ppid, start: startOf(process.ppid) };
  const timer = setInterval(() => {
    if (process.ppid === parent.pid) return;
    clearInterval(timer);
    act();
  }, 500);
  timer.unref();
}
