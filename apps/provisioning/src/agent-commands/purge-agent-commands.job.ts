import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { AgentCommandsRepository } from './agent-commands.repository.js';

const KEPT_HOURS = 24;
const BATCH = 1_000;

/** Deletes commands a day after they ended. */
@Injectable()
export class PurgeAgentCommandsJob {
  constructor(private readonly commands: AgentCommandsRepository) {}

  @Job({ name: 'purge-agent-commands', everyMs: 600_000 })
  async run(): Promise<void> {
    while ((await this.commands.purge(KEPT_HOURS, BATCH)) === BATCH);
  }
}
