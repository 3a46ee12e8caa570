import { Injectable } from '@nestjs/common';
import { Inbox } from '@rmm/messaging';
import { Clock, Logger } from '@rmm/service-kit';
import { DirectoryMetrics } from './directory.metrics.js';

/** Dependencies that both directories share. */
@Injectable()
export class DirectoryTools {
  constructor(
    readonly clock: Clock,
    readonly logger: Logger,
    readonly inbox: Inbox,
    readonly metrics: DirectoryMetrics,
  ) {}
}
