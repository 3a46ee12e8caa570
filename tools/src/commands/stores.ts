import { startThrowawayStores } from '../stores/throwaway.js';

/**
 * Starts throw-away stores for a spec that runs without `./fleet test`, prints one line of JSON, and ends when its
 * standard input ends or a signal arrives.
 */
export async function stores(): Promise<void> {
  const ending = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    process.stdin.resume().once('end', resolve).once('close', resolve);
  });
  const { addresses, stop } = await startThrowawayStores(console.error);
  console.log(addresses);
  await ending;
  await stop();
  process.exit(0);
}
