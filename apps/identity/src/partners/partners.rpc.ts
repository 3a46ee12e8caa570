import { Controller } from '@nestjs/common';
import {
  IDENTITY_PARTNERS_GET,
  IDENTITY_PARTNERS_LIST_SINCE,
  type PartnersSince,
  type PartnersSinceRequest,
  type RpcReply,
  type RpcRequest,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { PartnersRepository } from './partners.repository.js';

/** Serves the directories of the other services. */
@Controller()
export class PartnersRpc {
  constructor(private readonly partners: PartnersRepository) {}

  @RpcHandler(IDENTITY_PARTNERS_GET)
  async get({ partnerIds }: RpcRequest<typeof IDENTITY_PARTNERS_GET>): Promise<RpcReply<typeof IDENTITY_PARTNERS_GET>> {
    return { partners: await this.partners.listStates(partnerIds) };
  }

  @RpcHandler(IDENTITY_PARTNERS_LIST_SINCE)
  listSince(request: PartnersSinceRequest): Promise<PartnersSince> {
    return this.partners.listSince(request);
  }
}
