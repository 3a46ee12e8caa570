// node tools/stores.mjs throwaway --json
// Starts private stores, prints one JSON line, and lives until its standard input ends or it is told to stop.
import { Failure } from './failure.mjs';
import { startThrowawayStores } from './stores/throwaway.mjs';

const [command] = process.argv.slice(2);
if (command !== 'throwaway') {
  console.error('usage: node tools/stores.mjs throwaway --json');
  process.exit(2);
}

process.stdout.on('error', () => {});
const ending = new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, resolve);
  process.stdin.resume().once('end', resolve).once('close', resolve);
});

try {
  const { urls, stop } = await startThrowawayStores((line) => console.error(line));
  console.log(JSON.stringify(urls));
  await ending;
  await stop();
  process.exit(0);
} catch (error) {
  console.error(error instanceof Failure ? error.message : error);
  process.exit(1);
}
