import { Transaction } from '../database/transaction.js';

/** A transaction across tenants, under the worker login: it may touch just the tables granted to that login. */
export class WorkerTransaction extends Transaction {
  readonly door = 'worker';
}
