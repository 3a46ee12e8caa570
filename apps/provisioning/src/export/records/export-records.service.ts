import { Injectable } from '@nestjs/common';
import { MAX_MESSAGE_BYTES, type Envelope } from '@rmm/contracts';
import { Inbox, MessageRejected, Outbox } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Clock } from '@rmm/service-kit';
import { isStorableJson, isStorableText } from '@rmm/validation';
import { ExportRecordsRepository } from './export-records.repository.js';
import { readRecordMessage, type PublishedRecord } from './record-message.js';

export type RecordEvent = Envelope<Readonly<Record<string, unknown>>>;

/** The fields of a message that a rejection repeats. */
const REPEATED = ['schemaVersion', 'messageId', 'id', 'partnerId', 'orgId', 'siteId', 'deviceId', 'updatedAt'];
const MAX_FIELD = 512;
const RESOURCE = /^[a-z-]{1,40}$/;

/** Stores the records that other services publish for export. @see docs/reference/events.md#records-for-export */
@Injectable()
export class ExportRecordsService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly records: ExportRecordsRepository,
    private readonly inbox: Inbox,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  /**
   * Stores or deletes a record unless a newer one is stored. A record that cannot be stored is published again with the
   * reason, once.
   * @throws MessageRejected  then, so that the message is not delivered again
   */
  async receive(event: RecordEvent): Promise<void> {
    const reason = await this.apply(event);
    if (reason === null) return;
    await this.publishRejected(event, reason);
    throw new MessageRejected(reason);
  }

  /** @returns why the record cannot be stored, or null */
  private async apply({ type, data }: RecordEvent): Promise<string | null> {
    const [resource = '', change = ''] = type.split('.');
    const read = readRecordMessage({ resource, change }, data, this.clock.now());
    if (!read.ok) return read.reason;
    const { record } = read;
    return this.worker.transaction(async (tx) => {
      const owners = await this.records.findOwners(tx, ownersOf(record));
      if (!owners.hasTenant) return 'unknown tenant';
      if (!owners.hasSite) return 'unknown site';
      if (!owners.hasDevice) return 'unknown device';
      await (record.record === null ? this.records.remove(tx, record) : this.records.store(tx, record));
      return null;
    });
  }

  private async publishRejected(event: RecordEvent, reason: string): Promise<void> {
    const resource = event.type.split('.')[0] ?? '';
    if (!RESOURCE.test(resource)) return; // no subject can name it
    const { partnerId, orgId } = event;
    const data = { ...repeat(event.data), resource, reason };
    await this.inbox.once(event, (tx) =>
      this.outbox.publish(tx, {
        stream: 'records',
        type: `rejected.${resource}`,
        aggregateId: event.aggregateId,
        partnerId,
        orgId,
        data,
      }),
    );
  }
}

/** The site and device of a deleted record may be deleted as well. */
const ownersOf = ({ record, partnerId, orgId, siteId, deviceId }: PublishedRecord) =>
  record === null ? { partnerId, orgId, siteId: null, deviceId: null } : { partnerId, orgId, siteId, deviceId };

/** Returns the fields of a message that can be published, and its record when there is room for it. */
function repeat(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isShort = (value: unknown) =>
    value === null ||
    typeof value === 'number' ||
    (typeof value === 'string' && value.length <= MAX_FIELD && isStorableText(value));
  const fields = Object.fromEntries(REPEATED.filter((name) => isShort(data[name])).map((name) => [name, data[name]]));
  const { record } = data;
  const hasRoom =
    record !== undefined &&
    isStorableJson(record) &&
    Buffer.byteLength(JSON.stringify(record)) < MAX_MESSAGE_BYTES - 16 * 1024;
  return hasRoom ? { ...fields, record } : fields;
}
