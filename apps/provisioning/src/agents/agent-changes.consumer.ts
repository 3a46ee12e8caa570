import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AgentRecords, InvalidationFeeds } from '@rmm/access';

/** Drops cached agents when another replica replaces their token, or when a broadcast may have been lost. */
@Injectable()
export class AgentChangesConsumer implements OnApplicationBootstrap {
  constructor(
    private readonly feeds: InvalidationFeeds,
    private readonly records: AgentRecords,
  ) {}

  onApplicationBootstrap(): void {
    this.feeds.onGap(() => this.records.flush());
    this.feeds.subscribe('agent.changed', (change) => this.records.onAgentsChanged(change));
  }
}
