import { Controller } from '@nestjs/common';
import { OnRecord } from '@rmm/messaging';
import { ExportRecordsService, type RecordEvent } from './export-records.service.js';

/** Receives the records that other services publish for export. */
@Controller()
export class ExportRecordsConsumer {
  constructor(private readonly records: ExportRecordsService) {}

  @OnRecord()
  received(event: RecordEvent): Promise<void> {
    return this.records.receive(event);
  }
}
