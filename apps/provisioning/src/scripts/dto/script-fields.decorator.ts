import { fieldOf, isStorableJson, isStorableText, type FieldOptions } from '@rmm/validation';
import { isNestedAtMost } from '../script-definition.js';
import { ALERT_SEVERITIES, type AlertSeverity } from '../script.entity.js';

export const MAX_CONTENT_BYTES = 262_144;
export const MAX_PARAMETERS_BYTES = 65_536;
export const MAX_PARAMETERS_DEPTH = 8;
const MAX_EXIT_CODES = 256;
/** Windows reports 32 bits without a sign, other systems and tools small or negative numbers. */
const EXIT_CODE = /^(0|-?[1-9]\d{0,9})$/;
const [LEAST_EXIT_CODE, LARGEST_EXIT_CODE] = [-(2 ** 31), 2 ** 32 - 1];

/** The body of a script, kept as it is: 1 byte to 256 KB of text. */
export function IsScriptContent(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isScriptContent',
    check: (value) =>
      typeof value === 'string' &&
      value.length <= MAX_CONTENT_BYTES &&
      value.trim() !== '' &&
      isStorableText(value) &&
      Buffer.byteLength(value) <= MAX_CONTENT_BYTES,
    text: `must be text of 1 to ${MAX_CONTENT_BYTES} bytes without NUL or half of a surrogate pair`,
    api: { type: String, minLength: 1, maxLength: MAX_CONTENT_BYTES },
  });
}

/** Definitions of the parameters of a script: an object or a list, at most 64 KB and nested at most 8 deep. */
export function IsScriptParameters(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isScriptParameters',
    check: (value) =>
      typeof value === 'object' &&
      isNestedAtMost(value, MAX_PARAMETERS_DEPTH) &&
      isStorableJson(value) &&
      Buffer.byteLength(JSON.stringify(value)) <= MAX_PARAMETERS_BYTES,
    text: `must be an object or a list of at most ${MAX_PARAMETERS_BYTES} bytes, nested at most ${MAX_PARAMETERS_DEPTH} deep`,
    api: JSON_CONTAINER,
  });
}

const JSON_CONTAINER = {
  oneOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
  ],
};

/** Alert severities by exit code: `{ "0": null, "1": "high" }`. One that has no severity at all is refused. */
export function IsExitCodeSeverityMapping(options: FieldOptions = {}): PropertyDecorator {
  return fieldOf({
    ...options,
    name: 'isExitCodeSeverityMapping',
    check: isExitCodeSeverityMapping,
    text: `must map at most ${MAX_EXIT_CODES} exit codes to ${ALERT_SEVERITIES.join(', ')} or null, and at least one of them to a severity`,
    api: {
      type: 'object',
      additionalProperties: { type: 'string', enum: [...ALERT_SEVERITIES], nullable: true },
      example: { '0': null, '1': 'high' },
    },
  });
}

function isExitCodeSeverityMapping(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= MAX_EXIT_CODES &&
    entries.every(([code, severity]) => isExitCode(code) && (severity === null || isSeverity(severity))) &&
    entries.some(([, severity]) => severity !== null)
  );
}

const isExitCode = (code: string): boolean =>
  EXIT_CODE.test(code) && Number(code) >= LEAST_EXIT_CODE && Number(code) <= LARGEST_EXIT_CODE;

const isSeverity = (value: unknown): value is AlertSeverity => ALERT_SEVERITIES.includes(value as AlertSeverity);
