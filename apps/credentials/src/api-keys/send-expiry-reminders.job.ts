import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { ApiKeyExpiryService } from './api-key-expiry.service.js';

@Injectable()
export class SendExpiryRemindersJob {
  constructor(private readonly expiry: ApiKeyExpiryService) {}

  @Job({ name: 'send-api-key-expiry-reminders', everyMs: 600_000 })
  run(): Promise<void> {
    return this.expiry.sendReminders();
  }
}
