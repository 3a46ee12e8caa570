import 'reflect-metadata';
import type { Type } from '@nestjs/common';

/** What a query parameter, which is text, is to become. */
export type FieldKind = 'number' | 'boolean' | 'array';

const KIND = Symbol('kind');
const OPEN = Symbol('open');

/** Notes the kind of a property whose TypeScript type does not tell (unions). */
export function noteKind(kind: FieldKind): PropertyDecorator {
  return (target, property) => Reflect.defineMetadata(KIND, kind, target, property);
}

export function kindOf(type: Type<object>, property: string): FieldKind | undefined {
  const prototype = type.prototype as object;
  const noted = Reflect.getMetadata(KIND, prototype, property) as FieldKind | undefined;
  if (noted) return noted;
  const reflected: unknown = Reflect.getMetadata('design:type', prototype, property);
  if (reflected === Number) return 'number';
  if (reflected === Boolean) return 'boolean';
  return reflected === Array ? 'array' : undefined;
}

/** Class decorator: unknown fields are ignored, as in documents of agents older or newer than the fleet. */
export function OpenDocument(): ClassDecorator {
  return (target) => Reflect.defineMetadata(OPEN, true, target);
}

export function isOpenDocument(type: Type<object>): boolean {
  return Reflect.getMetadata(OPEN, type) === true;
}
