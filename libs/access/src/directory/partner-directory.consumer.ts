import { Controller } from '@nestjs/common';
import type { IntegrationEvent } from '@rmm/contracts';
import { OnIntegrationEvent } from '@rmm/messaging';
import { PartnerDirectory } from './partner-directory.service.js';

/** Stores the partners that identity publishes in `partner_directory`. */
@Controller()
export class PartnerDirectoryConsumer {
  constructor(private readonly directory: PartnerDirectory) {}

  @OnIntegrationEvent('partner.created', 'partner.updated')
  onPartnerChanged(event: IntegrationEvent<'partner.created' | 'partner.updated'>): Promise<void> {
    return this.directory.receive(event);
  }
}
