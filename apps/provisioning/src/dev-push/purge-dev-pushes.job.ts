import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { DevPushFilesRepository } from './dev-push-files.repository.js';
import { DevPushesRepository } from './dev-pushes.repository.js';

/** Five minutes each for the upload, the wait for the agent and the download. */
const FILE_MINUTES = 15;

/** Deletes files that no agent can download any more, those of interrupted uploads too, and pushes after a day. */
@Injectable()
export class PurgeDevPushesJob {
  constructor(
    private readonly files: DevPushFilesRepository,
    private readonly pushes: DevPushesRepository,
  ) {}

  @Job({ name: 'purge-dev-pushes', everyMs: 60_000 })
  async run(): Promise<void> {
    await this.files.purge(FILE_MINUTES);
    await this.pushes.purge();
  }
}
