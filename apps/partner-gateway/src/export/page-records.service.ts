import { Injectable } from '@nestjs/common';
import { forEachYielding } from '@rmm/service-kit';
import { type ExportResource, type RecordSource, type SerializedRecord, toRecord } from './export-record.mapper.js';
import { RecordSchemasService } from './record-schemas.service.js';
import { findWithheld, type WithheldRecord } from './withholding/withheld-record.js';

/** A page ends before the record with which its records would have more bytes. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** The part of the records of a reply that a page exports and withholds. */
export interface PageRecords {
  data: SerializedRecord[];
  blocked: WithheldRecord[];
  /** The records of the reply that are in the page, exported or withheld; at least one where there is one. */
  count: number;
}

/** Decides about each record between the reply of its owner and the response: maps, withholds, checks and measures it. */
@Injectable()
export class PageRecordsService {
  constructor(private readonly schemas: RecordSchemasService) {}

  /**
   * Yields to the event loop after a few milliseconds, since a page may have megabytes.
   * @throws RecordSchemaViolation  for a record that differs from its published schema
   */
  async select<T>(resource: ExportResource<T>, sources: readonly RecordSource<T>[]): Promise<PageRecords> {
    const page: PageRecords = { data: [], blocked: [], count: 0 };
    let bytes = 0;
    await forEachYielding(sources, (source, index) => {
      if (page.count < index) return; // the page has ended
      const { record, json } = toRecord(resource, source);
      const withheld = findWithheld(resource, record);
      if (withheld === null) this.schemas.assertValid(resource.name, record);
      bytes += Buffer.byteLength(withheld === null ? json : JSON.stringify(withheld)) + 1;
      if (bytes > MAX_PAGE_BYTES && page.count > 0) return;
      if (withheld === null) page.data.push({ revision: record.revision, json });
      else page.blocked.push(withheld);
      page.count += 1;
    });
    return page;
  }
}
