import type { Type } from '@nestjs/common';
import type { ValidationArguments } from 'class-validator';
import type { FieldErrors } from '../errors/domain-error.js';
import { ValidationError } from '../errors/errors.js';
import { planOf, type DtoPlan, type Field, type Rule } from './dto-plan.js';
import type { FieldKind } from './field-kind.js';

type Plain = Record<string, unknown>;
/** `query`: text becomes numbers and booleans, unknown parameters are ignored. */
export type DtoSource = 'body' | 'query';

/** More problems than this are not listed: a hostile body must not become a huge answer. */
const MAX_PROBLEMS = 100;

/**
 * Makes a DTO of what came over the wire, by the class-validator and class-transformer decorators of its class.
 * @throws ValidationError  naming every problem by its dotted path, unknown fields as "unknown field"
 */
export function readDto<T extends object>(type: Type<T>, value: unknown, source: DtoSource = 'body'): T {
  const problems = new Problems();
  if (!isPlain(value)) throw ValidationError.of(source, 'must be an object');
  const dto = readObject(planOf(type), value, '', source, problems);
  if (problems.count > 0) throw new ValidationError(undefined, { fieldErrors: problems.fieldErrors });
  return dto as T;
}

class Problems {
  fieldErrors: FieldErrors = {};
  count = 0;

  add(path: string, text: string): void {
    if (++this.count > MAX_PROBLEMS) return;
    if (Object.hasOwn(this.fieldErrors, path)) this.fieldErrors[path].push(text);
    else Object.defineProperty(this.fieldErrors, path, { value: [text], enumerable: true, configurable: true });
  }
}

function readObject(plan: DtoPlan, source: Plain, prefix: string, from: DtoSource, problems: Problems): object {
  if (from === 'body' && !plan.open) nameUnknownFields(plan, source, prefix, problems);
  const dto = new plan.type() as Plain;
  for (const field of plan.fields) {
    const raw = Object.hasOwn(source, field.name) ? source[field.name] : undefined;
    let value = from === 'query' && field.kind && raw !== undefined ? coerce(field.kind, raw) : raw;
    for (const transform of field.transforms) value = transform(value, source);
    if (value !== undefined) dto[field.name] = value;
  }
  for (const field of plan.fields) checkField(field, plan, dto, prefix, from, problems);
  return dto;
}

function nameUnknownFields(plan: DtoPlan, source: Plain, prefix: string, problems: Problems): void {
  for (const name of Object.keys(source)) {
    if (!plan.known.has(name)) problems.add(prefix + name, 'unknown field');
  }
}

function checkField(
  field: Field,
  plan: DtoPlan,
  dto: Plain,
  prefix: string,
  from: DtoSource,
  problems: Problems,
): void {
  const { name } = field;
  const value = dto[name];
  for (const applies of field.conditions) if (!applies(dto, value)) return;
  const before = problems.count;
  for (const rule of field.rules) {
    if (rule.appliesTo && !rule.appliesTo(dto, value)) continue;
    checkRule(
      rule,
      { targetName: plan.type.name, property: name, object: dto, value, constraints: rule.constraints },
      prefix,
      problems,
    );
  }
  if (field.nested && value !== undefined && value !== null && problems.count === before) {
    dto[name] = readNested(planOf(field.nested()), value, prefix + name, from, problems);
  }
}

function checkRule(rule: Rule, args: ValidationArguments, prefix: string, problems: Problems): void {
  const value: unknown = args.value;
  if (rule.each && Array.isArray(value)) {
    value.forEach((item, index) => {
      if (!rule.check(item, args)) problems.add(`${prefix}${args.property}.${index}`, rule.text(args));
    });
  } else if (!rule.check(value, args)) {
    problems.add(prefix + args.property, rule.text(args));
  }
}

function readNested(plan: DtoPlan, value: unknown, path: string, from: DtoSource, problems: Problems): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => readNested(plan, item, `${path}.${index}`, from, problems));
  if (isPlain(value)) return readObject(plan, value, `${path}.`, from, problems);
  problems.add(path, 'must be an object');
  return value;
}

function coerce(kind: FieldKind, raw: unknown): unknown {
  if (kind === 'array') return Array.isArray(raw) ? raw : [raw];
  if (typeof raw !== 'string') return raw;
  if (kind === 'number') return /^\d{1,15}$/.test(raw) ? Number(raw) : raw;
  return raw === 'true' ? true : raw === 'false' ? false : raw;
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}
