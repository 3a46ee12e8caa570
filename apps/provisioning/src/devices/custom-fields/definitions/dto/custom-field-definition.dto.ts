import { ApiProperty } from '@nestjs/swagger';
import { fieldOf, IsFlag, IsName, IsOneOf, IsUuid, IsWordList } from '@rmm/validation';
import { SortedPageQueryDto } from '../../../../lists/dto/sorted-page-query.dto.js';
import { OWNER_SCOPES, type OwnerScope } from '../../../../psa/dto/psa-connection.dto.js';
import { OS_TYPES, type OsType } from '../../../device.entity.js';
import { isFieldKey, isFieldValue, MAX_KEY_LENGTH, type CustomFieldValue } from '../../dto/custom-field-patch.dto.js';
import { CUSTOM_FIELD_TYPES, type CustomFieldType } from '../custom-field-definition.entity.js';

/** Defaults are shown for every device of a list. */
const MAX_DEFAULT_LENGTH = 1_000;
const VALUES = [{ type: 'string', maxLength: MAX_DEFAULT_LENGTH }, { type: 'number' }, { type: 'boolean' }];

const IsFieldKey = (): PropertyDecorator =>
  fieldOf({
    name: 'isFieldKey',
    check: (value) => typeof value === 'string' && isFieldKey(value),
    text: `must be text of 1 to ${MAX_KEY_LENGTH} characters, without control characters`,
    description: 'The name of the field in `customFields`; it cannot be changed',
    api: { type: String, minLength: 1, maxLength: MAX_KEY_LENGTH },
  });

const IsDefault = (): PropertyDecorator =>
  fieldOf({
    name: 'isDefault',
    optional: true,
    nullable: true,
    check: (value) => isFieldValue(value) && (typeof value !== 'string' || value.length <= MAX_DEFAULT_LENGTH),
    text: `must be text of at most ${MAX_DEFAULT_LENGTH} characters, a number, true, false or null`,
    description: 'Shown for devices without a value; of the type of the field',
    api: { oneOf: VALUES },
  });

export class ListCustomFieldDefinitionsDto extends SortedPageQueryDto {
  @IsUuid({ optional: true, description: 'Definitions that the organization owns' })
  orgId?: string;

  @IsOneOf(CUSTOM_FIELD_TYPES, { optional: true, description: 'Only those of this kind' })
  type?: CustomFieldType;
}

class CustomFieldRuleDto {
  @IsWordList({ min: 1, max: 100, optional: true, description: 'The values of a dropdown; not for other types' })
  options?: string[];

  @IsFlag({ optional: true, description: 'The value cannot be removed, unless the field has a default' })
  required?: boolean;

  @IsDefault()
  defaultValue?: CustomFieldValue | null;

  @IsWordList({ values: OS_TYPES, optional: true, description: 'The devices that have the field; empty for all' })
  deviceTypes?: OsType[];
}

/** An absent field stays as it is. */
export class UpdateCustomFieldDefinitionDto extends CustomFieldRuleDto {
  @IsName({ optional: true, description: 'Name of the field' })
  name?: string;
}

export class CreateCustomFieldDefinitionDto extends CustomFieldRuleDto {
  @IsOneOf(OWNER_SCOPES, { description: 'Who owns the definition' })
  ownerScope!: OwnerScope;

  @IsUuid({ optional: true, description: 'The owner, for `organization`; organization callers may omit it' })
  orgId?: string;

  @IsUuid({ optional: true, description: 'Required in system scope, for `partner`' })
  partnerId?: string;

  @IsFieldKey()
  fieldKey!: string;

  @IsName({ description: 'Name of the field' })
  name!: string;

  @IsOneOf(CUSTOM_FIELD_TYPES, { description: 'It cannot be changed' })
  type!: CustomFieldType;
}

export class CustomFieldDefinitionDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the field' })
  id: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'Null: of the partner' })
  orgId: string | null;

  @ApiProperty({ enum: OWNER_SCOPES, description: 'Whether it belongs to an organization or to the partner' })
  ownerScope: OwnerScope;

  @ApiProperty({ description: 'Key of the field in `customFields`' })
  fieldKey: string;

  @ApiProperty({ description: 'Name of the field' })
  name: string;

  @ApiProperty({ enum: CUSTOM_FIELD_TYPES, description: 'Type of the values' })
  type: CustomFieldType;

  @ApiProperty({ type: [String], description: 'Values to choose from' })
  options: string[];

  @ApiProperty({ type: Boolean, description: 'Whether devices must have a value' })
  required: boolean;

  @ApiProperty({ oneOf: VALUES, nullable: true, description: 'Value for devices without one' })
  defaultValue: CustomFieldValue | null;

  @ApiProperty({
    enum: OS_TYPES,
    isArray: true,
    description: 'Operating systems whose devices have the field; empty: all',
  })
  deviceTypes: OsType[];

  @ApiProperty({ format: 'date-time', description: 'When the field was created' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the field was last changed' })
  updatedAt: string;
}
