import { Injectable } from '@nestjs/common';
import { toActingCaller, type UserCaller } from '@rmm/access';
import {
  CREDENTIALS_ORGANIZATIONS_IN_USE,
  IDENTITY_ORGANIZATIONS_IN_USE,
  WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE,
} from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import type { OpenChange } from './undo-plan.types.js';

const CONTRACTS = [
  IDENTITY_ORGANIZATIONS_IN_USE,
  CREDENTIALS_ORGANIZATIONS_IN_USE,
  WEBHOOK_DISPATCHER_ORGANIZATIONS_IN_USE,
];
/** The limit of the contracts. */
const ORGANIZATIONS_PER_CALL = 1_000;

/** Asks the other services which organizations have members, keys or webhooks. */
@Injectable()
export class OrganizationUseService {
  constructor(private readonly rpc: RpcClient) {}

  /**
   * Returns those of the organizations created by the changes that are in use elsewhere: one call to each service for a set
   * of organizations. Call it outside of a transaction.
   * @throws UnavailableError  when one service does not reply: none of them may be removed then
   */
  async listUsed(caller: UserCaller, partnerId: string, changes: readonly OpenChange[]): Promise<Set<string>> {
    const created = changes.filter(({ resource, action }) => resource === 'organization' && action === 'create');
    const orgIds = [...new Set(created.map(({ recordId }) => recordId))];
    const used = new Set<string>();
    for (let from = 0; from < orgIds.length; from += ORGANIZATIONS_PER_CALL) {
      const request = {
        ...{ caller: toActingCaller(caller), partnerId },
        orgIds: orgIds.slice(from, from + ORGANIZATIONS_PER_CALL),
      };
      const replies = await Promise.all(CONTRACTS.map((contract) => this.rpc.call(contract, request)));
      for (const reply of replies) for (const orgId of reply.orgIds) used.add(orgId);
    }
    return used;
  }
}
