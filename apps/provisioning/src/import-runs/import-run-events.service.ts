import { Injectable, StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AccessSnapshots, type Caller } from '@rmm/access';
import { hasPermission } from '@rmm/permissions';
import { Clock, NotFoundError, withoutDeadline } from '@rmm/service-kit';
import type { ImportRun } from './import-run.entity.js';
import { isActive, toImportRunDto } from './import-run.mapper.js';
import { ImportRunsRepository } from './import-runs.repository.js';

const POLL_MS = 1_000;
/** After which a client connects again, which is authenticated again. */
const MAX_MS = 15 * 60_000;

/** Streams the progress of a run. Reads the table, so that any replica can serve it. */
@Injectable()
export class ImportRunEventsService {
  constructor(
    private readonly runs: ImportRunsRepository,
    private readonly snapshots: AccessSnapshots,
    private readonly clock: Clock,
  ) {}

  /** Sends the run at once and after each change; ends when no step of it runs or access to it is lost. @throws NotFoundError */
  async stream(caller: Caller, id: string): Promise<StreamableFile> {
    await this.runs.get(caller, id);
    return new StreamableFile(Readable.from(withoutDeadline(this.events(caller, id)), { highWaterMark: 1 }), {
      type: 'text/event-stream; charset=utf-8',
    });
  }

  private async *events(caller: Caller, id: string): AsyncGenerator<string> {
    const endsAt = performance.now() + MAX_MS;
    let sent = '';
    while (performance.now() < endsAt) {
      const run = await this.findVisible(caller, id);
      if (run === null) return;
      const data = toImportRunDto(run, this.clock.nowMs());
      const text = JSON.stringify({ ...data, etaSeconds: null });
      if (text !== sent) yield `event: progress\ndata: ${JSON.stringify(data)}\n\n`;
      sent = text;
      if (!isActive(run)) return;
      await sleep(POLL_MS);
    }
  }

  /** Reads the run with the access that the user has now; null when that shows it no longer, or when it was purged. */
  private async findVisible(caller: Caller, id: string): Promise<ImportRun | null> {
    const current = caller.kind === 'user' ? await this.snapshots.findCaller(caller) : null;
    if (!current || !hasPermission(current.permissions, 'organizations:read')) return null;
    try {
      return await this.runs.get(current, id);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }
}
