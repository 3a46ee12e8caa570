import type { CreatedEnrollmentKey } from '@rmm/contracts';
import type { RecordBase } from '../export/export-record.mapper.js';
import type { PageRecords } from '../export/page-records.service.js';
import type { WithheldRecord } from '../export/withholding/withheld-record.js';
import type { CreatedEnrollmentKeyDto } from './dto/created.dto.js';

/** The response of a write: the record as exports show it; null with one `blocked` entry when they withhold it. */
export interface CreatedRecordBody {
  schemaVersion: '1';
  data: RecordBase | null;
  blocked?: WithheldRecord[];
}

/** @param page  of the one record that was created */
export function toCreatedRecord({ data: [first], blocked }: Pick<PageRecords, 'data' | 'blocked'>): CreatedRecordBody {
  return { schemaVersion: '1', ...(first ? { data: JSON.parse(first.json) as RecordBase } : { data: null, blocked }) };
}

/** Returns the only response that contains the key and the secret. */
export function toCreatedEnrollmentKey({
  key,
  enrollmentSecret,
  ...data
}: CreatedEnrollmentKey): CreatedEnrollmentKeyDto {
  return { schemaVersion: '1', data, key, ...(enrollmentSecret !== null && { enrollmentSecret }) };
}
