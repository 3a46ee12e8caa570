import { Injectable } from '@nestjs/common';
import { MetricsRegistry } from '@rmm/service-kit';
import type { SessionMethod } from './session-family.entity.js';

/** The method of a login; `mfa` is the second step of any of them. */
export type LoginMethod = SessionMethod | 'mfa';

/** The metrics of logins: the response to the client does not say why one was refused. */
@Injectable()
export class LoginMetrics {
  private readonly logins;
  private readonly locks;

  constructor(metrics: MetricsRegistry) {
    this.logins = metrics.counter({
      name: 'rmm_logins_total',
      help: 'Logins by method and outcome: accepted, mfa_required, or the reason of the refusal as in the audit log',
      labelNames: ['method', 'outcome'],
    });
    this.locks = metrics.counter({
      name: 'rmm_account_locks_total',
      help: 'Accounts locked for a while after too many wrong passwords',
    });
  }

  /** @param outcome  one of the fixed reasons, never text of a caller */
  countLogin(method: LoginMethod, outcome: string): void {
    this.logins.inc({ method, outcome });
  }

  countLock(): void {
    this.locks.inc();
  }
}
