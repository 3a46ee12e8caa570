import { Injectable } from '@nestjs/common';
import {
  MCP_MAX_ALERT_BYTES,
  STREAMS,
  subjects,
  type McpAlert,
  type McpAlertsPage,
  type McpListAlertsRequest,
} from '@rmm/contracts';
import { decodeEnvelope, LatestMessages, NatsLink, type LatestMessage } from '@rmm/messaging';

/** Reads the alert events of an organization that are still in the stream. */
@Injectable()
export class AlertsService {
  private readonly events: LatestMessages;

  constructor(link: NatsLink) {
    this.events = new LatestMessages(link, STREAMS.events.name);
  }

  /** Lists the alerts of the caller's organization, newest first. @throws UnavailableError */
  async list({ caller, before, limit }: McpListAlertsRequest): Promise<McpAlertsPage> {
    const { orgId, partnerId } = caller.tenant;
    if (orgId === null) throw new Error('An API key belongs to an organization');
    const messages = await this.events.read(subjects.event(orgId, 'alert.>'), limit + 1, before);
    const page = messages.slice(0, limit);
    const next = messages.length > limit ? (page.at(-1)?.seq ?? null) : null;
    return { alerts: page.flatMap((message) => toAlert(message, { orgId, partnerId })), next };
  }
}

/** Returns nothing for a message that is no event of the organization: anyone with the publisher's login can store one. */
function toAlert(
  { subject, text }: LatestMessage,
  { orgId, partnerId }: { orgId: string; partnerId: string | null },
): McpAlert[] {
  const decoded = decodeEnvelope(subject, text);
  if (!decoded.ok || decoded.envelope.orgId !== orgId) return [];
  const { id, type, timestamp, data, partnerId: of } = decoded.envelope;
  if (of !== null && of !== partnerId) return [];
  const isTooLarge = Buffer.byteLength(JSON.stringify(data)) > MCP_MAX_ALERT_BYTES;
  return [{ id, type, timestamp, data: isTooLarge ? null : (data as McpAlert['data']), truncated: isTooLarge }];
}
