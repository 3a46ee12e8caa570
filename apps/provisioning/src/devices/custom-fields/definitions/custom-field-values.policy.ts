import { isISO8601 } from 'class-validator';
import type { OsType } from '../../device.entity.js';
import type { CustomFieldPatch, CustomFieldValue } from '../dto/custom-field-patch.dto.js';
import type { CustomFieldDefinition } from './custom-field-definition.entity.js';

/** The part of a definition that concerns the values of the field. */
export type CustomFieldRule = Pick<
  CustomFieldDefinition,
  'fieldKey' | 'type' | 'options' | 'required' | 'defaultValue' | 'deviceTypes'
>;

const DATE = /^\d{4}-\d\d-\d\d$/;

/** Returns what is wrong with a value of a defined field; null when it is allowed. */
export function findValueProblem({ type, options }: Pick<CustomFieldRule, 'type' | 'options'>, value: unknown) {
  switch (type) {
    case 'text':
      return typeof value === 'string' ? null : 'must be text';
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? null : 'must be a number';
    case 'boolean':
      return typeof value === 'boolean' ? null : 'must be true or false';
    case 'date':
      return isDay(value) ? null : 'must be a date, YYYY-MM-DD';
    case 'dropdown':
      return typeof value === 'string' && options.includes(value) ? null : 'must be one of the options of the field';
  }
}

const isDay = (value: unknown): boolean =>
  typeof value === 'string' && DATE.test(value) && isISO8601(value, { strict: true });

/**
 * Checks a patch of the fields of a device against their definitions; keys without a definition are not restricted.
 * @returns the problems by key
 */
export function findPatchProblems(
  rules: readonly CustomFieldRule[],
  osType: OsType,
  { set, remove }: CustomFieldPatch,
): Record<string, string[]> {
  const problems: Record<string, string[]> = {};
  for (const rule of rules) {
    const problem = problemOf(rule, osType, Object.hasOwn(set, rule.fieldKey) ? set[rule.fieldKey] : undefined, remove);
    if (problem !== null) problems[rule.fieldKey] = [problem];
  }
  return problems;
}

function problemOf(
  rule: CustomFieldRule,
  osType: OsType,
  value: CustomFieldValue | undefined,
  removed: readonly string[],
): string | null {
  const isApplicable = rule.deviceTypes.length === 0 || rule.deviceTypes.includes(osType);
  if (value !== undefined) return isApplicable ? findValueProblem(rule, value) : `is not a field of ${osType} devices`;
  const isMissed = isApplicable && rule.required && rule.defaultValue === null && removed.includes(rule.fieldKey);
  return isMissed ? 'is required' : null;
}
