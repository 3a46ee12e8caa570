import { EVENT_SAMPLES } from './event-samples.js';
import { eventDataJsonSchema, eventDataSchema } from './event-schemas.js';
import { EVENT_TYPES, type EventType } from './event.types.js';

describe('schemas of event data', () => {
  it.each(EVENT_TYPES)('describes every field of %s', (type) => {
    const { properties, additionalProperties } = eventDataJsonSchema(type) as {
      properties: Record<string, { description?: string }>;
      additionalProperties?: unknown;
    };
    const undescribed = Object.keys(properties).filter((name) => !properties[name]?.description);
    expect(undescribed).toEqual([]);
    expect(Object.keys(properties).length).toBeGreaterThan(1);
    expect(additionalProperties).toBeUndefined();
  });

  it.each(Object.entries(EVENT_SAMPLES))('accept the sample of %s', (type, sample) => {
    const schema = eventDataSchema(type as EventType);
    expect(schema.parse(sample)).toEqual(sample);
    expect(schema.safeParse({ ...sample, newField: 1 }).success).toBe(true);
    expect(schema.safeParse({}).success).toBe(false);
  });

  it('require the fields that the fleet always publishes, and none of other publishers', () => {
    expect(eventDataJsonSchema('device.offline')).toMatchObject({
      type: 'object',
      required: ['deviceId', 'hostname', 'displayName', 'lastSeenAt'],
    });
    expect(eventDataJsonSchema('alert.triggered')).not.toHaveProperty('required');
  });
});
