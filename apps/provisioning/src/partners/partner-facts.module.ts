import { Module } from '@nestjs/common';
import { OrganizationsModule } from '../organizations/organizations.module.js';
import { PartnerFactsConsumer } from './partner-facts.consumer.js';
import { PartnersModule } from './partners.module.js';

@Module({ imports: [PartnersModule, OrganizationsModule], controllers: [PartnerFactsConsumer] })
export class PartnerFactsModule {}
