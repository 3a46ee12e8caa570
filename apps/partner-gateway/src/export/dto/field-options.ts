/** Options of `ApiProperty` for fields whose value may be unknown. */
export const NULLABLE_TEXT = { type: String, nullable: true } as const;
export const NULLABLE_ID = { type: String, format: 'uuid', nullable: true } as const;
export const NULLABLE_NUMBER = { type: Number, nullable: true } as const;
export const NULLABLE_INTEGER = { type: 'integer', nullable: true } as const;
export const NULLABLE_FLAG = { type: Boolean, nullable: true } as const;
export const NULLABLE_DAY = { type: String, format: 'date', nullable: true } as const;
export const NULLABLE_TIME = { type: String, format: 'date-time', nullable: true } as const;

const JSON_TYPES = [
  { type: 'object', additionalProperties: true },
  { type: 'array', items: {} },
  { type: 'string' },
  { type: 'number' },
  { type: 'boolean' },
];
/** Any JSON, as the service that owns the record defines it. */
export const ANY_JSON = { oneOf: JSON_TYPES, nullable: true } as object;
export const ANY_JSON_ITEMS = { type: 'array', items: { oneOf: JSON_TYPES, nullable: true } } as object;
export const NULLABLE_SCALAR = {
  oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }],
  nullable: true,
} as object;
