import {
  EVENT_DESCRIPTIONS,
  EVENT_SAMPLES,
  EVENT_TYPES,
  eventDataJsonSchema,
  type EventType,
  WEBHOOK_TEST_EVENT,
} from '@rmm/contracts';
import { apiOwner } from '@rmm/service-kit';

type Json = Record<string, unknown>;

const SAMPLE_ENVELOPE = {
  id: '5f0c2f0e-6a0e-4c57-9d3e-3f1b7f1f6a10',
  timestamp: '2026-11-20T10:00:00.000Z',
  orgId: '8a4d4a3b-5f0e-4f7c-b1a7-0d5f1c9f2e11',
};

/** Headers of every delivery. @see docs/reference/webhooks.md */
const HEADERS: Json = {
  type: 'object',
  required: ['X-Service-Delivery-Id', 'X-Service-Event-Id', 'X-Service-Event-Type', 'X-Service-Timestamp'],
  properties: {
    'X-Service-Delivery-Id': text('The delivery: the same over all its attempts'),
    'X-Service-Event-Id': text('The event: `id` of the body'),
    'X-Service-Event-Type': text('`type` of the body'),
    'X-Service-Timestamp': text('When the attempt began, Unix milliseconds'),
    'X-Service-Signature-Timestamp': text('The time inside the signature; the same value'),
    'X-Service-Signature': text('`sha256=` and 64 hex digits; only with a secret'),
    'X-Service-Signature-Previous': text('The same by the previous secret, while two overlap'),
    'webhook-id': text('With `standardWebhooks`: id of the event'),
    'webhook-timestamp': text('With `standardWebhooks`: when the attempt began, Unix seconds'),
    'webhook-signature': text('With `standardWebhooks`: `v1,` and base64'),
  },
};

const TEST_DATA: Json = {
  type: 'object',
  description: 'These fields, or the payload of the test call',
  properties: {
    message: text('Text of the test'),
    timestamp: { ...text('When the test was requested'), format: 'date-time' },
    webhookId: { ...text('Id of the webhook'), format: 'uuid' },
  },
};

/** Returns the AsyncAPI 3 document of the webhooks: one message per event type. @see docs/reference/events.md */
export function asyncApiDocument(publicApiUrl: string): Json {
  const types = [...EVENT_TYPES, WEBHOOK_TEST_EVENT] as const;
  const refs = (base: string) => types.map((type) => [type, { $ref: `${base}/messages/${type}` }] as const);
  return {
    asyncapi: '3.1.0',
    id: 'urn:fleet:webhooks',
    info: {
      title: 'Fleet webhooks',
      version: '1',
      description:
        'Events that the fleet posts to webhooks. Every event is delivered at least once; verify the signature, and ignore fields and types that you do not know.',
      ...asyncOwner(publicApiUrl),
      tags: [{ name: 'webhooks', description: 'Signed deliveries of events' }],
    },
    defaultContentType: 'application/json',
    channels: {
      webhook: {
        address: null,
        title: 'Webhook',
        description: 'The URL of a webhook, registered by `POST /webhooks`',
        messages: Object.fromEntries(refs('#/components')),
      },
    },
    operations: {
      deliverEvent: {
        action: 'send',
        channel: { $ref: '#/channels/webhook' },
        title: 'Deliver an event',
        summary: 'Posts an event to each webhook that is subscribed to its type',
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
        messages: refs('#/channels/webhook').map(([, ref]) => ref),
      },
    },
    components: {
      messages: Object.fromEntries(types.map((type) => [type, messageOf(type)])),
      schemas: { DeliveryHeaders: HEADERS },
    },
  };
}

/** The license of AsyncAPI has no `identifier`. */
function asyncOwner(publicApiUrl: string): Json {
  const { contact, license } = apiOwner(publicApiUrl);
  return { contact, license: { name: license.name } };
}

function messageOf(type: EventType | typeof WEBHOOK_TEST_EVENT): Json {
  const isTest = type === WEBHOOK_TEST_EVENT;
  const sample = Object.hasOwn(EVENT_SAMPLES, type) ? EVENT_SAMPLES[type as keyof typeof EVENT_SAMPLES] : undefined;
  const summary = isTest ? 'A test of the webhook was requested' : EVENT_DESCRIPTIONS[type];
  return {
    name: type,
    title: type,
    summary,
    contentType: 'application/json',
    headers: { $ref: '#/components/schemas/DeliveryHeaders' },
    payload: payloadOf(type, isTest ? TEST_DATA : eventDataJsonSchema(type)),
    ...(sample && { examples: [{ name: type, summary, payload: { ...SAMPLE_ENVELOPE, type, data: sample } }] }),
  };
}

function payloadOf(type: string, data: Json): Json {
  return {
    type: 'object',
    required: ['id', 'type', 'timestamp', 'orgId', 'data'],
    properties: {
      id: text('Id of the event; the same in every delivery of it'),
      type: { ...text('Type of the event'), const: type },
      timestamp: { ...text('When it happened, UTC with milliseconds'), format: 'date-time' },
      orgId: { ...text('Organization of the event'), format: 'uuid' },
      data: { description: 'What happened', ...data },
    },
  };
}

function text(description: string): Json {
  return { type: 'string', description };
}
