import { StartRefusal } from '../errors/start-refusal.js';
import { type ServiceOptions, startService } from './start-service.js';

/**
 * The whole of a `main.ts`. What an operator must put right (configuration, a login that is too strong, a schema that is
 * behind) is said in one message; anything else comes with its stack. Ends with 1 either way.
 */
export async function runService(options: () => ServiceOptions): Promise<void> {
  try {
    await startService(options());
  } catch (error) {
    console.error(error instanceof StartRefusal ? error.message : error);
    process.exit(1);
  }
}
