import { Transaction } from '../database/transaction.js';

/** A transaction that sees and writes the rows of one caller. Having it is the proof that a tenant context is set. */
export class TenantTransaction extends Transaction {
  readonly door = 'tenant';
}
