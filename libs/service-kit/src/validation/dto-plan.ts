import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, type ValidationArguments } from 'class-validator';
import { isOpenDocument, kindOf, type FieldKind } from './field-kind.js';

type Check = (value: unknown, args: ValidationArguments) => boolean;

/** One validation decorator, ready to run. */
export interface Rule {
  each: boolean;
  check: Check;
  constraints: unknown[];
  text: (args: ValidationArguments) => string;
  appliesTo?: (dto: unknown, value: unknown) => boolean;
}

/** All that decorators said about one property. */
export interface Field {
  name: string;
  kind?: FieldKind;
  conditions: ((dto: unknown, value: unknown) => boolean)[];
  transforms: ((value: unknown, source: unknown) => unknown)[];
  rules: Rule[];
  nested?: () => Type<object>;
}

/** A DTO class, its decorators read once. */
export interface DtoPlan {
  type: Type<object>;
  fields: Field[];
  known: ReadonlySet<string>;
  /** Unknown fields are ignored instead of refused. */
  open: boolean;
}

type Metadata = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

const PLAIN_TO_CLASS = 0;
const plans = new WeakMap<Type<object>, DtoPlan>();

/** The plan of a DTO class; made at the first request that needs it, then remembered. */
export function planOf(type: Type<object>): DtoPlan {
  let plan = plans.get(type);
  if (plan === undefined) {
    plan = makePlan(type);
    plans.set(type, plan);
  }
  return plan;
}

function makePlan(type: Type<object>): DtoPlan {
  const storage = getMetadataStorage();
  const grouped = storage.groupByPropertyName(storage.getTargetValidationMetadatas(type, '', false, false));
  const fields = Object.entries(grouped).map(([name, metadata]) => makeField(type, name, metadata));
  return { type, fields, known: new Set(fields.map((field) => field.name)), open: isOpenDocument(type) };
}

function makeField(type: Type<object>, name: string, metadata: Metadata[]): Field {
  const conditional = metadata.filter((entry) => entry.type === 'conditionalValidation');
  const nested = metadata.some((entry) => entry.type === 'nestedValidation');
  return {
    name,
    kind: kindOf(type, name),
    conditions: conditional.map((entry) => entry.constraints[0] as (dto: unknown, value: unknown) => boolean),
    transforms: transformsOf(type, name),
    rules: metadata.filter((entry) => entry.type === 'customValidation').flatMap(rulesOf),
    nested: nested ? nestedType(type, name) : undefined,
  };
}

function transformsOf(type: Type<object>, name: string): Field['transforms'] {
  return defaultMetadataStorage
    .findTransformMetadatas(type, name, PLAIN_TO_CLASS)
    .map(({ transformFn }) => (value: unknown, source: unknown) => {
      return transformFn({ value, key: name, obj: source, type: PLAIN_TO_CLASS, options: {} });
    });
}

function nestedType(type: Type<object>, name: string): () => Type<object> {
  const named = defaultMetadataStorage.findTypeMetadata(type, name)?.typeFunction;
  if (named) return () => named() as Type<object>;
  const reflected: unknown = Reflect.getMetadata('design:type', type.prototype as object, name);
  if (typeof reflected !== 'function' || reflected === Object || reflected === Array) {
    throw new Error(`${type.name}.${name} is nested: say of what with @Type(() => ...)`);
  }
  return () => reflected as Type<object>;
}

function rulesOf(metadata: Metadata): Rule[] {
  const constraints = getMetadataStorage().getTargetValidatorConstraints(metadata.constraintCls);
  return constraints.map((constraint) => {
    const validator = constraint.instance;
    const message =
      metadata.message || ((args: ValidationArguments) => validator.defaultMessage?.(args) ?? 'is not valid');
    return {
      each: metadata.each,
      constraints: (metadata.constraints ?? []) as unknown[],
      appliesTo: metadata.validateIf,
      check: (value, args) => {
        const result = validator.validate(value, args);
        if (typeof result === 'boolean') return result;
        throw new Error(`${args.targetName}.${args.property}: validators must answer at once, ask elsewhere`);
      },
      text: (args) => tidy(typeof message === 'string' ? message : message(args), args),
    };
  });
}

/** `each value in $property must be a UUID` reads `must be a UUID`: the path says the rest. */
function tidy(text: string, args: ValidationArguments): string {
  return text
    .replace(/^(each value in )?\$property:? /, '')
    .replace(/\$constraint(\d)/g, (_, n: string) => String(args.constraints[Number(n) - 1]))
    .replaceAll('$property', args.property);
}
