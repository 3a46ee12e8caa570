import { EVENT_SAMPLES, EVENT_TYPES } from '@rmm/contracts';
import { schemaMismatches, type Schema } from '@rmm/testing/openapi';
import { asyncApiDocument } from './async-api.js';

interface Message {
  summary: string;
  payload: Schema;
  examples?: { payload: { type: string } }[];
}

describe('asyncApiDocument', () => {
  const document = asyncApiDocument('https://api.fleet.example') as {
    asyncapi: string;
    info: { contact: { url: string } };
    channels: { webhook: { messages: object } };
    operations: { deliverEvent: { messages: object[] } };
    components: { messages: Record<string, Message> };
  };
  const { messages } = document.components;

  it('has a message for each event type and for tests', () => {
    const types = [...EVENT_TYPES, 'webhook.test'];
    expect(document.asyncapi).toBe('3.1.0');
    expect(Object.keys(messages)).toEqual(types);
    expect(Object.keys(document.channels.webhook.messages)).toEqual(types);
    expect(document.operations.deliverEvent.messages).toHaveLength(types.length);
  });

  it('shows an example, which matches its schema, of each event that the fleet publishes', () => {
    const shown = Object.entries(messages).filter(([, { examples }]) => examples);
    expect(shown.map(([type]) => type).sort()).toEqual(Object.keys(EVENT_SAMPLES).sort());
    for (const [type, { payload, examples = [] }] of shown) {
      expect(examples[0]?.payload.type).toBe(type);
      expect(schemaMismatches(payload, examples[0]?.payload, {})).toEqual([]);
    }
  });

  it('names the docs of the fleet as contact', () => {
    expect(document.info.contact.url).toBe('https://api.fleet.example/docs');
  });
});
