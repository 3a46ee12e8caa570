import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { OrganizationDirectory } from './organization-directory.service.js';
import { PartnerDirectory } from './partner-directory.service.js';

/** Compares the directories with their owners when it is due. Every replica does, because each trusts its own result. */
@Injectable()
export class ReconcileDirectoriesJob {
  constructor(
    private readonly organizations: OrganizationDirectory,
    private readonly partners: PartnerDirectory,
  ) {}

  @Job({ name: 'reconcile-directories', everyMs: 500 })
  async run(): Promise<void> {
    const results = await Promise.allSettled([this.organizations.reconcileWhenDue(), this.partners.reconcileWhenDue()]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
