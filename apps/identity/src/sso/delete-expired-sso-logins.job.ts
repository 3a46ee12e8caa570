import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { SsoFlowsRepository } from './sso-flows.repository.js';

/** Deletes logins at identity providers that were not completed. Replicas may run it at the same time. */
@Injectable()
export class DeleteExpiredSsoLoginsJob {
  constructor(private readonly flows: SsoFlowsRepository) {}

  @Job({ name: 'delete-expired-sso-logins', everyMs: 600_000 })
  run(): Promise<void> {
    return this.flows.deleteExpired();
  }
}
