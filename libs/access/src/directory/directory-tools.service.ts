import { Injectable } from '@nestjs/common';
import { Inbox } from '@rmm/messaging';
import { Clock, Logger } from '@rmm/service-kit';
import { DirectoryMetrics } from './directory.metrics.js';

/** What both directories work with. */
@Injectable()
export class DirectoryTools {
  constructor(
    readonly clock: Clock,
    readonly logger: Logger,
    readonly inbox: Inbox,
    readonly metrics: DirectoryMetrics,
  ) {}
}
