import { fieldOf, isTimeZone } from '@rmm/validation';

/** An optional IANA time zone. */
export const IsTimeZone = (): PropertyDecorator =>
  fieldOf({
    optional: true,
    description: 'IANA name; UTC when absent at creation',
    example: 'Europe/Berlin',
    name: 'isTimezone',
    check: (value) => typeof value === 'string' && isTimeZone(value),
    text: 'must be an IANA time zone',
    api: { type: String },
  });
