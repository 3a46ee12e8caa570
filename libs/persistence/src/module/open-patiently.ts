import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseConnectionLost, fromDriver } from '../database/database-errors.js';
import { Databases, type PersistenceOptions, StartRefused } from './databases.js';

const PATIENCE_MS = 30_000;
const PAUSE_MS = 500;

/** Opens the databases, waiting a while for a server that is starting as well. @throws StartRefused, or the last failure */
export async function openPatiently(options: PersistenceOptions, patienceMs = PATIENCE_MS): Promise<Databases> {
  const logger = new Logger('Persistence');
  const giveUpAt = performance.now() + patienceMs;
  for (;;) {
    try {
      return await Databases.open(options);
    } catch (error) {
      const mayHeal = !(error instanceof StartRefused) && fromDriver(error) instanceof DatabaseConnectionLost;
      if (!mayHeal || performance.now() + PAUSE_MS > giveUpAt) throw error;
      logger.warn('The database cannot be reached yet');
      await sleep(PAUSE_MS);
    }
  }
}
