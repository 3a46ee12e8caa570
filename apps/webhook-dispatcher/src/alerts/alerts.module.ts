import { Module } from '@nestjs/common';
import { AlertsRpc } from './alerts.rpc.js';
import { AlertsService } from './alerts.service.js';

@Module({ controllers: [AlertsRpc], providers: [AlertsService] })
export class AlertsModule {}
