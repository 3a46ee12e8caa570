import type { Envelope } from '@rmm/contracts';

export type Decoded = { ok: true; envelope: Envelope } | { ok: false; reason: string };
type Json = Record<string, unknown>;

/** The end of the year 9999. */
const MAX_TIME = 253_402_300_799_999;

const refuse = (reason: string): Decoded => ({ ok: false, reason });
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 512;
const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a message as an envelope and checks it against its subject.
 * Publishers outside this fleet may omit schemaVersion and the aggregate; the organization is then the aggregate.
 * @see docs/reference/events.md
 */
export function decodeEnvelope(subject: string, text: string): Decoded {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return refuse('not JSON');
  }
  if (!isObject(json)) return refuse('not an object');
  if (subject.startsWith('rmm.records')) return decodeRecord(subject, json);
  const { id, type, timestamp, data } = json;
  const orgId = json.orgId ?? null;
  const partnerId = json.partnerId ?? null;
  if (!isText(id) || !isText(type)) return refuse('id or type is missing');
  if (!isText(timestamp) || Number.isNaN(Date.parse(timestamp))) return refuse('timestamp is not a time');
  if (!isTextOrNull(orgId) || !isTextOrNull(partnerId)) return refuse('orgId or partnerId is not text');
  if (!isObject(data)) return refuse('data is not an object');
  if (!subjectFits(subject, type, orgId)) return refuse('the subject belongs to another message');
  const envelope: Envelope = {
    id,
    type,
    schemaVersion: typeof json.schemaVersion === 'number' ? json.schemaVersion : 1,
    timestamp,
    partnerId,
    orgId,
    aggregateId: isText(json.aggregateId) ? json.aggregateId : (orgId ?? id),
    aggregateVersion: typeof json.aggregateVersion === 'number' ? json.aggregateVersion : 0,
    ...(isObject(json.actor) && { actor: json.actor as unknown as Envelope['actor'] }),
    ...(isText(json.correlationId) && { correlationId: json.correlationId }),
    ...(isText(json.traceparent) && { traceparent: json.traceparent }),
    data,
  };
  return { ok: true, envelope };
}

/** Checks the parts of the message that its subject repeats; a message that disagrees is on the wrong subject. */
function subjectFits(subject: string, type: string, orgId: string | null): boolean {
  if (subject.startsWith('rmm.events.')) return orgId !== null && subject === `rmm.events.${orgId}.${type}`;
  if (subject.startsWith('rmm.broadcast.')) return subject === `rmm.broadcast.${type}`;
  if (!subject.startsWith('rmm.internal.')) return true;
  const publisherEnd = subject.indexOf('.', 'rmm.internal.'.length);
  return publisherEnd !== -1 && subject.slice(publisherEnd + 1) === type;
}

/**
 * Reads a record, which has a format of its own on the wire; handlers receive it as `data` of an envelope. They check it,
 * its version included, since a record that cannot be stored is published again with the reason.
 */
function decodeRecord(subject: string, json: Json): Decoded {
  const { messageId, resource, id, updatedAt } = json;
  const [, family, named, change] = subject.split('.');
  if (!isText(named) || (resource !== undefined && resource !== named)) {
    return refuse('the subject belongs to another message');
  }
  const recordId = isText(id) ? id : 'unknown';
  const time = isText(updatedAt) ? Date.parse(updatedAt) : Number.NaN;
  const envelope: Envelope = {
    id: isText(messageId) ? messageId : `${named}/${recordId}`,
    type: family === 'records-rejected' ? `rejected.${named}` : `${named}.${change}`,
    schemaVersion: 1,
    timestamp: new Date(time >= 0 && time <= MAX_TIME ? time : 0).toISOString(),
    partnerId: isText(json.partnerId) ? json.partnerId : null,
    orgId: isText(json.orgId) ? json.orgId : null,
    aggregateId: `${named}/${recordId}`,
    aggregateVersion: 0,
    data: json,
  };
  return { ok: true, envelope };
}
