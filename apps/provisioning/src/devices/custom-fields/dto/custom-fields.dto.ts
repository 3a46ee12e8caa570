import { ApiProperty, type ApiBodyOptions } from '@nestjs/swagger';
import { MAX_KEYS_AT_ONCE, MAX_TEXT_LENGTH, type CustomFieldValue } from './custom-field-patch.dto.js';

const VALUES = [{ type: 'string', maxLength: MAX_TEXT_LENGTH }, { type: 'number' }, { type: 'boolean' }];

export class CustomFieldsDto {
  @ApiProperty({
    type: 'object',
    additionalProperties: { oneOf: VALUES },
    example: { rack: 'B12', spare: false },
    description: 'Values by field key',
  })
  customFields: Record<string, CustomFieldValue>;
}

/** Schema of the body: a map of any names, which a DTO class cannot describe. */
export const CUSTOM_FIELDS_BODY: ApiBodyOptions = {
  description:
    'A flat map that is merged with the stored fields; null removes a field. Names have 1 to 100 characters.',
  schema: {
    type: 'object',
    minProperties: 1,
    maxProperties: MAX_KEYS_AT_ONCE,
    additionalProperties: { oneOf: VALUES, nullable: true },
    example: { rack: 'B12', spare: false, retiredOn: null },
  },
};
