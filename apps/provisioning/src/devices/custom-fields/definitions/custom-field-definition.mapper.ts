import type { CustomFieldDefinition } from './custom-field-definition.entity.js';
import type { CustomFieldDefinitionDto } from './dto/custom-field-definition.dto.js';

export const toCustomFieldDefinitionDto = (row: CustomFieldDefinition): CustomFieldDefinitionDto => ({
  id: row.id,
  orgId: row.orgId,
  ownerScope: row.orgId === null ? 'partner' : 'organization',
  fieldKey: row.fieldKey,
  name: row.name,
  type: row.type,
  options: row.options,
  required: row.required,
  defaultValue: row.defaultValue,
  deviceTypes: row.deviceTypes,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
